"""Which of scikit-learn's checks need starts that do not depend on chance."""


def compares_repeated_rows(check):
    """Whether a check fits weighted and repeated rows and wants the same; k-means draws other starts from these.

    ``test_sample_weight.py`` runs these checks with starts that are the same.
    """
    return "sample_weight_equivalence" in check.func.__name__
