"""
Segments of a photo
===================

``widegap.image.segment`` clusters the pixels of a picture by colour and optionally by position and texture. The fit
uses a sample of the pixels and assigns the others, so large photos work as well.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_sample_image

from widegap import image

photo = load_sample_image("flower.jpg")[::2, ::2]

# %%
# Each segment is shown in its mean colour.

figure, axes = plt.subplots(1, 4, figsize=(12, 2.6), subplot_kw={"xticks": [], "yticks": []})
axes[0].imshow(photo)
axes[0].set_title("photo")
for ax, k in zip(axes[1:], (2, 3, 4), strict=True):
    labels = image.segment(photo, k, random_state=0)
    ax.imshow(image.paint(photo, labels))
    ax.set_title(f"{k} segments")
plt.tight_layout()
plt.show()
