"""Writes code that reads the view's configuration (YAML, JSON or TOML) into an object of the team's class."""

from palmette.features.artefacts import Config
from palmette.features.team_document import format_of

_PARSERS = {"json": "json.loads", "toml": "tomllib.loads", "yaml": "yaml.safe_load"}


def parsed_text(config: Config, text: str) -> str:
    """Code that parses the document, whose text the code `text` gives."""
    return f"{_PARSERS[format_of(config.file.path)]}({text})"


def config_object(config: Config, text: str, name: str) -> str:
    """Code of the configuration object; `name` is the name of the team's class where the code runs."""
    parsed = parsed_text(config, text)
    if not config.class_name:
        return parsed
    match config.built_by:
        case "model_validate":
            return f"{name}.model_validate({parsed})"
        case "keywords":
            return f"{name}(**{parsed})"
        case "type_adapter":
            return f"TypeAdapter({name}).validate_python({parsed})"
