"""Documents to rows of term weights."""
