"""The stemmer against the examples of Porter's paper and of his sample vocabulary."""

import pytest

from widegap.documents._porter import porter_stem

# Examples printed beside the rules in the paper, taken through all steps.
PAPER = """
caresses caress  ponies poni  ties ti  caress caress  cats cat  feed feed  agreed agre  plastered plaster  bled bled
motoring motor  sing sing  conflated conflat  troubled troubl  sized size  hopping hop  tanned tan  falling fall
hissing hiss  fizzed fizz  failing fail  filing file  happy happi  sky sky  relational relat  conditional condit
rational ration  valenci valenc  hesitanci hesit  digitizer digit  conformabli conform  radicalli radic
differentli differ  vileli vile  analogousli analog  vietnamization vietnam  predication predic  operator oper
feudalism feudal  decisiveness decis  hopefulness hope  callousness callous  formaliti formal  sensitiviti sensit
sensibiliti sensibl  triplicate triplic  formative form  formalize formal  electriciti electr  electrical electr
hopeful hope  goodness good  revival reviv  allowance allow  inference infer  airliner airlin  gyroscopic gyroscop
adjustable adjust  defensible defens  irritant irrit  replacement replac  adjustment adjust  dependent depend
adoption adopt  homologou homolog  communism commun  activate activ  angulariti angular  homologous homolog
effective effect  bowdlerize bowdler  probate probat  rate rate  cease ceas  controll control  roll roll
generalizations gener  oscillators oscil
""".split()
CONNECT = "connect connected connecting connection connections".split()


@pytest.mark.parametrize(("word", "stem"), list(zip(PAPER[::2], PAPER[1::2], strict=True)))
def test_examples_of_the_paper(word, stem):
    assert porter_stem(word) == stem


def test_forms_of_a_word_have_one_stem():
    assert {porter_stem(word) for word in CONNECT} == {"connect"}


@pytest.mark.parametrize("word", ["is", "by", "naïves", "łodzies", "日本", "c3pos", ""])
def test_short_and_foreign_words_stay(word):
    assert porter_stem(word) == word


@pytest.mark.parametrize(
    ("word", "stem"), [("yes", "ye"), ("toy", "toi"), ("syzygy", "syzygi"), ("boxed", "box"), ("missions", "mission")]
)
def test_y_and_the_exceptions_of_short_stems(word, stem):
    """y after a vowel is a consonant; x ends no short stem; -ion falls only after s or t and a long stem."""
    assert porter_stem(word) == stem
