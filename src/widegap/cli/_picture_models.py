"""One model for several pictures: fitted to a sample of the pixels of all, applied to each, kept in a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from widegap.cli._errors import CommandError


@dataclass(frozen=True)
class PictureModel:
    """A clusterer of pixels, what the pixels are described by, and the segment of each cluster."""

    estimator: Any
    position: float
    texture: float
    order: tuple[int, ...]

    def labels(self, image: Any) -> Any:
        """Segments of a picture; segment 0 means the same in every picture."""
        import numpy as np

        from widegap.image import _blocks, _pixels

        pixels = _pixels(in_colour(image), 1, self.position, self.texture)
        names = np.empty(len(pixels.rows), np.uint8)
        table = np.array(self.order, np.uint8)
        for block in _blocks(len(names)):
            names[block] = table[self.estimator.predict(pixels.rows[block])]
        return (names if pixels.places is None else names[pixels.places]).reshape(pixels.shape)

    def save(self, path: Path) -> None:
        from widegap import persistence

        settings = {"position": self.position, "texture": self.texture, "order": list(self.order)}
        persistence.save(self.estimator, path, extra={"picture": settings})

    @classmethod
    def load(cls, path: Path) -> "PictureModel":
        from widegap import persistence

        if not path.exists():
            raise CommandError(f"{path}: no such file; 'widegap segment PICTURE -k 3 --model {path.name}' makes one.")
        estimator, extra = persistence.load(path)
        settings = extra.get("picture", {})
        try:
            found = cls(estimator, float(settings["position"]), float(settings["texture"]), tuple(settings["order"]))
            sound = sorted(found.order) == list(range(int(estimator.n_clusters_)))
        except (TypeError, KeyError, ValueError, AttributeError):
            sound = False
        if not sound:
            raise CommandError(
                f"{path} is not a model of pictures; 'widegap predict' applies those of tables and texts."
            )
        return found


def in_colour(image: Any) -> Any:
    """A picture with three channels or four, so that one model suits all."""
    import numpy as np

    return np.repeat(image[:, :, None], 3, axis=2) if image.ndim == 2 else image


def fit_model(images: Any, n_images: int, k: int | None, method: str, settings: dict[str, Any]) -> PictureModel:
    """A model of the pixels of several pictures, each with the same share of the sample; k of None is found."""
    import numpy as np

    from widegap.image import FITTED_PIXELS, MOST_DIVIDED, _clusterer, _method, _pixels, found_number

    rng = np.random.default_rng(settings["random_state"])
    position, texture = settings["position"], settings["texture"]
    samples = []
    for image in images:
        pixels = _pixels(in_colour(image), 1, position, texture)
        sample = pixels.sample(np.zeros(len(pixels.rows), np.int32), 0, rng)
        samples.append(sample[: max(1, FITTED_PIXELS // n_images)] if n_images > 1 else sample)
    rows = np.concatenate(samples)
    estimator = _method(method, "auto" if k is None else k)
    k = found_number(rows, rng) if k is None else k
    model = _clusterer(estimator, k, rng).fit(rows)
    if "min_cluster_fraction" in model.get_params() and np.mean(model.predict(rows) != model.labels_) > MOST_DIVIDED:
        model.set_params(min_cluster_fraction=0.0).fit(rows)  # a flat colour was divided, as in drawings
    sizes = np.bincount(model.predict(rows), minlength=k)
    order = np.argsort(np.argsort(-sizes, kind="stable"), kind="stable")
    return PictureModel(model, position, texture, tuple(map(int, order)))
