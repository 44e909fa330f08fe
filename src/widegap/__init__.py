"""Maximum margin clustering: the groups that a large-margin classifier would separate best."""

from widegap import universum
from widegap.estimators._cpm3c import CPM3C
from widegap.estimators._iterative import IterLSSVM, IterSVM, IterSVR
from widegap.estimators._m2dcu import M2DCU
from widegap.estimators._max_margin import MaxMarginClustering
from widegap.estimators._sdp import GMMC, MMC

__version__ = "0.1.0.dev0"
__all__ = ["CPM3C", "GMMC", "IterLSSVM", "IterSVM", "IterSVR", "M2DCU", "MMC", "MaxMarginClustering", "universum"]
