"""Everything that has a name: importing this module registers all data sets and methods."""

from importlib import import_module

for name in (
    "data mixed_data shapes suite_data text_data universum_data photos methods margin_methods iterative_methods "
    "number_methods text_methods universum_methods mixed_methods missing_rules new_row_methods say_methods "
    "topic_methods doubt_methods update_methods baselines kernel_baselines text_baselines mixed_baselines "
    "peer_baselines"
).split():
    import_module(f"experiments.{name}")
