"""`fastlin completion`: a script that completes commands, options and their values in a shell.

The script is made from the parsers, and knows all that they know; a shell asks no Python while one types.
"""

import argparse
from collections.abc import Iterator

from fastlin.cli import COMMANDS

BASH = """\
_fastlin() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" command="${{COMP_WORDS[1]}}" found=""
  if [ "$word" = "=" ]; then word=""; elif [ "$before" = "=" ]; then before="${{COMP_WORDS[COMP_CWORD-2]}}"; fi
  case "$command" in {groups}) [ "$COMP_CWORD" -gt 2 ] && command="$command ${{COMP_WORDS[2]}}";; esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{first} --help --version" -- "$word"))
    return
  fi
  case "$command $before" in
{values}
  esac
  if [ -n "$found" ] && [ "${{word#-}}" = "$word" ]; then
    COMPREPLY=($(compgen -W "$found" -- "$word"))
    return
  fi
  case "$command" in
{options}
  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$found --help" -- "$word"));;
    *)
      if [ "${{found#-}}" = "$found" ]; then COMPREPLY=($(compgen -W "$found" -- "$word"))
      else local IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$word")); fi;;
  esac
}}
complete -o filenames -F _fastlin fastlin
"""


def run(options: argparse.Namespace) -> int:
    print({"bash": bash, "zsh": zsh, "fish": fish}[options.shell](), end="")
    return 0


def bash() -> str:
    """The script for bash: of every command its options, of options with a choice the values."""
    groups = _groups()
    options = [f'    "{group}") found="{" ".join(_inside(group))}";;' for group in groups]
    values = []
    for command in COMMANDS:
        actions = list(_actions(command))
        names = " ".join(name for action in actions for name in action.option_strings)
        options.append(f'    "{command}") found="{names}";;')
        for action in [*actions, *_chosen_arguments(command)]:
            if known := values_of(action):
                names = "|".join(f'"{command} {name}"' for name in action.option_strings or command.split()[-1:])
                values.append(f'    {names}) found="{" ".join(known)}";;')
    return BASH.format(
        groups="|".join(groups), first=" ".join(_first_words()), options="\n".join(options), values="\n".join(values)
    )


def zsh() -> str:
    """The same for zsh, which runs bash's scripts of completion."""
    return f"#compdef fastlin\nautoload -U +X bashcompinit && bashcompinit\n{bash()}"


def fish() -> str:
    """The script for fish."""
    lines = [
        f"complete -c fastlin -n __fish_use_subcommand -f -a {word} -d '{_quoted(COMMANDS.get(word, ''))}'"
        for word in _first_words()
    ]
    for group in _groups():
        inside = " ".join(_inside(group))
        seen = f"__fish_seen_subcommand_from {group}; and not __fish_seen_subcommand_from {inside}"
        lines.append(f"complete -c fastlin -n '{seen}' -f -a '{inside}'")
    for command in COMMANDS:
        seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in command.split())
        known = [value for action in _chosen_arguments(command) for value in values_of(action)]
        lines += [f"complete -c fastlin -n '{seen}' -f -a '{' '.join(known)}'"] if known else []
        for action in _actions(command):
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in action.option_strings
            )
            known = values_of(action)
            given = f" -x -a '{' '.join(known)}'" if known else "" if action.nargs == 0 else " -r"
            lines.append(f"complete -c fastlin -n '{seen}' {names}{given} -d '{_quoted(action.help or '')}'")
    return "".join(f"{line}\n" for line in lines)


def values_of(action: argparse.Action) -> list[str]:
    """The values that an option chooses among; none: it takes anything."""
    known = action.choices or getattr(action.type, "values", None) or ()
    return [str(value) for value in known]


def _actions(command: str) -> Iterator[argparse.Action]:
    """The options of a command."""
    from fastlin.cli.commands import parser_of

    return (action for action in parser_of(command)._actions if action.option_strings)


def _chosen_arguments(command: str) -> list[argparse.Action]:
    """The arguments behind a command that are no options, and are chosen among values."""
    from fastlin.cli.commands import parser_of

    return [action for action in parser_of(command)._actions if not action.option_strings and values_of(action)]


def _first_words() -> list[str]:
    return list(dict.fromkeys(command.split()[0] for command in COMMANDS))


def _groups() -> list[str]:
    """The first words of commands of two."""
    return list(dict.fromkeys(command.split()[0] for command in COMMANDS if " " in command))


def _inside(group: str) -> list[str]:
    return [command.split()[1] for command in COMMANDS if command.startswith(f"{group} ")]


def _quoted(text: str) -> str:
    """Text between single quotes of a shell."""
    return text.replace("\\", "\\\\").replace("'", "\\'").replace("%%", "%")
