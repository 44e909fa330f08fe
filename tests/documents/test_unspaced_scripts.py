"""Chinese and Japanese: topics separate, terms are words, and the language is recognised."""

import numpy as np
import pytest

from widegap import DocumentClustering
from widegap.documents._languages import detect_language
from widegap.documents._phrases import with_phrases
from widegap.documents._words import tokens
from widegap.metrics import clustering_accuracy

# Sentences on cooking, football and space, eight each.
JAPANESE = [
    "鍋に水を入れて、玉ねぎと人参を煮込みます。塩と醤油で味を整えて、ご飯と一緒に食べます。",
    "フライパンに油を熱し、鶏肉を焼きます。焼き色がついたら野菜を加えて炒めます。",
    "小麦粉と卵と牛乳を混ぜて、オーブンでケーキを焼きます。砂糖は少なめにします。",
    "味噌汁は出汁を取り、豆腐とわかめを入れて、最後に味噌を溶かします。",
    "野菜を細かく切って、醤油と砂糖で煮ます。鍋に蓋をして弱火で煮込みます。",
    "卵を割って混ぜ、フライパンで焼きます。塩を少し加えると味が良くなります。",
    "豚肉と玉ねぎを炒めて、カレーの味を整えます。ご飯にかけて食べます。",
    "魚に塩を振り、弱火で焼きます。大根と醤油を添えて食べます。",
    "試合の後半に選手がゴールを決め、チームは一点差で勝利しました。",
    "監督は試合の前に選手を集め、守備の練習を続けると話しました。",
    "キーパーが相手のシュートを止めて、チームは優勝に近づきました。",
    "サッカーの代表チームは来月の試合に向けて、新しい選手を選びました。",
    "前半に相手が先にゴールを決めましたが、後半に選手が追いつきました。",
    "リーグの優勝を争う二つのチームが、来週の試合で対戦します。",
    "監督は守備を変え、攻撃の選手を二人交代させました。試合は引き分けでした。",
    "サッカー選手は怪我のために試合を休み、チームの練習にも参加していません。",
    "探査機は火星の軌道に入り、表面の写真を地球に送りました。",
    "天文学者は望遠鏡で遠い銀河を観測し、新しい星を発見しました。",
    "ロケットは人工衛星を載せて打ち上げられ、予定の軌道に入りました。",
    "宇宙飛行士は宇宙ステーションで実験を行い、地球に戻りました。",
    "月の表面から石を持ち帰る探査機が、来年打ち上げられます。",
    "望遠鏡の観測から、その惑星には水があると天文学者は考えています。",
    "人工衛星は地球の軌道を回り、海と雲を観測しています。",
    "銀河の中心にある黒い穴を、世界の望遠鏡が同時に観測しました。",
]
CHINESE = [
    "锅里放水，加入洋葱和胡萝卜煮汤，最后放盐和酱油调味。",
    "平底锅里放油，把鸡肉煎到金黄，再加入蔬菜一起炒。",
    "把面粉、鸡蛋和牛奶混合，放进烤箱烤蛋糕，少放一点糖。",
    "豆腐汤要先煮高汤，再放豆腐和海带，最后放盐调味。",
    "把蔬菜切碎，用酱油和糖煮，盖上锅盖用小火煮二十分钟。",
    "打两个鸡蛋，放一点盐，在平底锅里煎熟。",
    "猪肉和洋葱一起炒，加入酱油调味，配米饭吃。",
    "鱼上撒盐，用小火煎，配上萝卜和酱油一起吃。",
    "下半场球员射门得分，球队以一球优势赢得比赛。",
    "教练在比赛前召集球员，说要继续练习防守。",
    "守门员扑出了对手的射门，球队离冠军更近了。",
    "足球国家队为下个月的比赛选出了新的球员。",
    "上半场对手先进球，下半场我们的球员追平了比分。",
    "争夺联赛冠军的两支球队将在下周的比赛中相遇。",
    "教练改变了防守，换上两名进攻球员，比赛打成平局。",
    "足球运动员因为受伤没有参加比赛，也没有参加球队训练。",
    "探测器进入火星轨道，把表面的照片传回地球。",
    "天文学家用望远镜观测遥远的星系，发现了一颗新的恒星。",
    "火箭载着人造卫星发射升空，进入预定轨道。",
    "宇航员在空间站进行实验后返回地球。",
    "从月球表面带回石头的探测器将在明年发射。",
    "根据望远镜的观测，天文学家认为那颗行星上有水。",
    "人造卫星在地球轨道上运行，观测海洋和云层。",
    "世界各地的望远镜同时观测星系中心的黑洞。",
]
TOPICS = np.repeat(range(3), 8)


def two_sentences(sample):
    """Documents of two sentences on one topic: a single sentence of twenty signs shares too little with others."""
    return [sample[8 * (i // 8) + j % 8] + sample[8 * (i // 8) + (j + 1) % 8] for i, j in enumerate([*range(8)] * 3)]


@pytest.mark.parametrize("sample", [JAPANESE, CHINESE], ids=["japanese", "chinese"])
@pytest.mark.parametrize("seed", range(3))
def test_topics_separate(sample, seed):
    """Measured: 1.0 for ten seeds, with and without stop words."""
    model = DocumentClustering(3, random_state=seed).fit(two_sentences(sample))
    assert clustering_accuracy(TOPICS, model.labels_) >= 0.95


def test_leading_terms_are_words():
    model = DocumentClustering(3, random_state=0).fit(two_sentences(JAPANESE))
    terms = model.top_terms(12)
    assert {"試合", "選手", "チーム"} <= set(terms[model.labels_[8]])
    assert not any("\u3041" <= sign <= "\u309f" for words in terms.values() for word in words for sign in word)


def test_pairs_that_overlap_become_one_word_again():
    documents = two_sentences(CHINESE)
    labels = np.repeat([0, 1, 2], 8)
    terms = {0: ["酱油"], 1: ["比赛", "守门"], 2: ["望远", "轨道", "远镜", "天文", "文学", "学家"]}
    assert with_phrases(documents, labels, terms, 4) == {
        0: ["酱油"],
        1: ["比赛", "守门"],
        2: ["望远镜", "轨道", "天文学家"],
    }


def test_languages_are_recognised_by_their_script():
    pytest.importorskip("stop_words")
    assert detect_language(JAPANESE) == "japanese" and detect_language(CHINESE) == "chinese"
    pages = [
        f"<html><head><title>A page in English</title></head><body><p>{text}</p></body></html>" for text in CHINESE
    ]
    assert detect_language(pages) == "chinese"
    assert detect_language(["The cat is on the table and does not want to come down (猫)."]) == "english"


@pytest.mark.parametrize("sample", [JAPANESE, CHINESE], ids=["japanese", "chinese"])
def test_every_sentence_has_words(sample):
    assert min(len(list(tokens(text))) for text in sample) >= 4
