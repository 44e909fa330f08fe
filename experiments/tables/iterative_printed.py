"""What Zhang, Tsang and Kwok print: the paper (IEEE TNN 20(4), 2009) and the slides of the conference version (2007).

Means of ten runs; "-" where a method ran out of memory. Signs and points that the scan of the tables lost were
restored where one reading alone makes sense.
"""

METHODS = ("KM", "KKM", "NC", "MMC", "GMMC", "iterSVM", "iterLS-SVM", "iterSVR")
# Table IV, clustering errors in %.
ERRORS = {
    "optdigits 3-8 (s)": "0 0 0 2.0 0 0 0 0",
    "optdigits 1-7 (s)": "8.0 5.6±3.1 3.0 0 0 1.0 0 0",
    "optdigits 2-7 (s)": "9.0 9.0 6.0 15.0 2.0 3.0 3.0 3.0",
    "optdigits 8-9 (s)": "11.0 11.0 9.0 3.0 7.0 9.0 0 3.0",
    "ionosphere (s)": "20.0 10.0 23.0 25.0 14.0 23.0 19.0 25.0",
    "optdigits 3-8": "5.3 5.5 6.4 - 4.2 4.5 4.2 3.4",
    "optdigits 1-7": "0 0 0 - 0 0 0 0",
    "optdigits 2-7": "3.1 2.8 0.3 - 0 3.1 0.6 0",
    "optdigits 8-9": "9.3 9.0 10.0 - 5.9 4.8 4.2 3.7",
    "optdigits 3-9": "20.9±14.5 19.3±15.1 21.9 - 8.3 18.8±10.9 15.6±12.0 9.2±7.8",
    "ionosphere": "28.8 28.2 25.0 - 24.2 28.5 24.5 28.2",
    "svmguide1-a (s)": "23.5 9.0 12.5 - 10.0 6.6 6.0 6.8",
    "ringnorm (s)": "24.0±0.5 3.6 22.3 - 1.4 23.8±0.5 15.5±0.7 3.2±0.01",
    "image": "43.5 39.2±0.2 41.2 - 41.2 38.7 28.2 31.6",
    "letter": "17.9 6.8 23.2 - 7.0 7.4 7.4 7.2",
    "satellite": "4.1 2.9 4.2 - 2.1 3.8 4.4 3.6",
    "svmguide1-a": "35.8 26.8 23.9 - - 29.8 6.6 16.7",
    "ringnorm": "23.4±0.08 5.2±0.01 6.9±0.4 - - 23.4±0.09 7.2±0.04 2.5±0.02",
}
# Table V, CPU seconds, without their deviations.
SECONDS = {
    "optdigits 3-8 (s)": "0.004 0.04 0.02 859.8 2.04 0.02 0.10 0.05",
    "optdigits 1-7 (s)": "0.006 0.09 0.02 679.4 1.78 0.06 0.09 0.08",
    "optdigits 2-7 (s)": "0.005 0.03 0.08 1078.0 1.89 0.08 0.12 0.12",
    "optdigits 8-9 (s)": "0.004 0.03 0.09 957.0 1.69 0.03 0.11 0.08",
    "ionosphere (s)": "0.006 0.02 0.11 764.0 1.97 0.02 0.15 0.06",
    "optdigits 3-8": "0.02 0.16 0.31 - 12.9 0.31 1.30 0.86",
    "optdigits 1-7": "0.02 0.17 0.33 - 21.3 0.18 1.78 0.62",
    "optdigits 2-7": "0.01 0.15 0.31 - 19.4 0.12 1.27 1.37",
    "optdigits 8-9": "0.01 0.18 0.29 - 20.9 0.72 2.33 0.79",
    "optdigits 3-9": "0.4 1.39 3.70 - 239.5 2.37 3.43 4.27",
    "ionosphere": "0.08 0.12 0.28 - 19.8 0.07 5.79 0.45",
    "svmguide1-a (s)": "0.04 0.7 7.54 - 588.6 0.29 2.35 2.49",
    "ringnorm (s)": "0.07 0.54 6.58 - 506.0 1.51 10.85 7.75",
    "image": "0.02 0.63 6.39 - 1054.0 0.48 12.31 2.54",
    "letter": "0.02 1.39 25.21 - 1747.0 3.66 251.2 14.51",
    "satellite": "0.05 3.97 93.82 - 5590.0 2.65 361.4 11.83",
    "svmguide1-a": "0.13 4.83 221.0 - - 3.3 18.63 36.25",
    "ringnorm": "0.57 40.53 38.2 - - 56.9 1120 148.4",
}
# Table VI, iterations of iterSVM, iterLS-SVM, iterSVR.
ITERATIONS = {
    "optdigits 3-8 (s)": "2 2 3",
    "optdigits 1-7 (s)": "5 5 5",
    "optdigits 2-7 (s)": "7 3 5",
    "optdigits 8-9 (s)": "3 3 7",
    "ionosphere (s)": "3 3 5",
    "optdigits 3-8": "3 2 3",
    "optdigits 1-7": "2 2 3",
    "optdigits 2-7": "3 3 5",
    "optdigits 8-9": "6 4 5",
    "optdigits 3-9": "3.9±0.8 5.1±0.7 6.4±1.8",
    "ionosphere": "2 3 4",
    "svmguide1-a (s)": "5 5 5",
    "ringnorm (s)": "5.7±1.1 6.2±2.2 13.5±5.7",
    "image": "5 9 4",
    "letter": "6 4 15",
    "satellite": "11 13 5",
    "svmguide1-a": "4 4 10",
    "ringnorm": "4.8±0.5 5.4±0.5 7.4±0.8",
}
# Table I, clustering errors in % on digits 3 and 9: iterSVM, iterSVR.
COSTS = {
    "C = 0.00001": "31.13 14.01",
    "C = 0.0001": "21.27 2.98",
    "C = 0.001": "19.7 2.85",
    "C = 0.01": "19.2 3.24",
    "C = 0.1": "19.7 3.76",
    "C = 1": "19.46 3.5",
    "C = 100": "19.46 3.5",
}
# Table II: error in %, seconds.
STARTS = {
    "random only": "48.21 0.001",
    "random + iterSVR": "28.57 12.74",
    "KM only": "3.49 0.025",
    "KM + iterSVR": "1.92 1.75",
    "NC only": "2.43 4.12",
    "NC + iterSVR": "0.91 5.57",
}
# Table VIII: exponents of n; "?" where the scan cannot be read.
EXPONENTS = {
    "KM": "1.?",
    "KKM": "2.19",
    "NC": "2.?",
    "GMMC": "3.72",
    "iterSVM": "1.6?",
    "iterLS-SVM": "2.62",
    "iterSVR": "2.07",
}
# Slides, errors in %: KM, NC, MMC, GMMC, iterSVM, iterLS-SVM, iterSVR.
SLIDE_METHODS = tuple(name for name in METHODS if name != "KKM")
SLIDE_ERRORS = {
    "3-8": "5.32 35 10 5.6 4.2 3.92 3.36",
    "1-7": "0.55 45 31.25 2.2 0.55 0.55 0.55",
    "2-7": "3.09 34 1.25 0.5 3.09 2.25 0.0",
    "8-9": "9.32 48 3.75 16.0 9.6 8.76 3.67",
    "iono": "32±17.9 25 21.25 23.5 31.6±24.9 24.4±2.8 32.3±16.6",
    "w1b": "44.1 41.8 - - 39.4 - 36",
    "svmgd1a": "23.5 12.5 - - 23.6 6.8 6.8",
    "letter": "17.94 23.2 - - 14.6 7.33 7.2",
    "satellite": "4.07 4.21 - - 4.05 3.7 3.18",
    "image": "43.5 41.2 - - 38.08 41.2 28.6",
    "ringnorm": "24±5.83 22.3 - - 27.2±6.43 29.8±11 9.3±5.87",
}
# Slides, all 45 pairs of digits: KM, NC, iterSVM, iterSVR.
SLIDE_PAIRS = {"UCI": "3.62 2.43 3.49 1.82", "MNIST": "10.79 10.08 9.49 7.59"}
# Slides, seconds and errors in %: NC, MMC, iterSVR.
SLIDE_SECONDS = {
    "digits 3-9": "0.05 1218 0.2",
    "digits 8-9": "0.09 957 0.3",
    "digits 2-7": "0.08 1079 0.14",
    "ionosphere": "0.11 764 0.12",
}
SLIDE_TIMED_ERRORS = {"digits 3-9": "21 7 3", "digits 8-9": "9 3 3", "digits 2-7": "6 15 8", "ionosphere": "29 25 25"}
