# bash completion of stepcast; installed to share/bash-completion/completions/stepcast
# Commands, flags and names are asked of the binary itself, so that nothing here has to be kept in step with it.
_stepcast_names() {  # the first word of each entry of a list
  stepcast list "$1" 2>/dev/null | cut -d' ' -f1
}
_stepcast_commands() {
  stepcast --help 2>/dev/null | awk '/^Subcommands:/ {on = 1; next} /^[^ ]/ || /^$/ {on = 0} on {print $1}'
}
_stepcast_kinds() {  # of stepcast list: "kind KIND REQUIRED  models | clusters | ..."
  stepcast list --help 2>/dev/null | sed -n 's/^ *kind KIND REQUIRED *//p' | tr -d '|'
}
_stepcast_choices() {  # of export and report: "target TARGET REQUIRED  torchrun | slurm | ..."
  stepcast "$1" --help 2>/dev/null | sed -n 's/^ *\(target TARGET\|kind KIND\) REQUIRED *//p' | tr -d '|'
}
_stepcast() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
  if [ "$COMP_CWORD" = 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_stepcast_commands) --help --version" -- "$current")
    return
  fi
  case $previous in
    --engine) mapfile -t COMPREPLY < <(compgen -W "$(_stepcast_names engines)" -- "$current"); return ;;
    --profile) mapfile -t COMPREPLY < <(compgen -f -W "$(_stepcast_names profiles)" -- "$current"); return ;;
    -o|--output|--chart) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    --cluster) mapfile -t COMPREPLY < <(compgen -W "$(_stepcast_names clusters)" -- "$current"); return ;;
    --model) mapfile -t COMPREPLY < <(compgen -W "$(_stepcast_names models)" -- "$current"); return ;;
    --set|--vary|--seed|--runs|--steps|--jobs|-j) COMPREPLY=(); return ;;
  esac
  case $current in
    -*)  # the flags that the command itself documents
      mapfile -t COMPREPLY < <(compgen -W "$(stepcast "$command" --help 2>/dev/null |
        grep -oE '(^|[ ,])--?[A-Za-z][A-Za-z0-9_-]*' | tr -d ' ,' | sort -u)" -- "$current")
      return ;;
  esac
  case $command in
    export|report)
      if [ "$COMP_CWORD" = 2 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_stepcast_choices "$command")" -- "$current")
      else
        mapfile -t COMPREPLY < <(compgen -f -W "$(_stepcast_names jobs)" -- "$current")
      fi ;;
    list) mapfile -t COMPREPLY < <(compgen -W "$(_stepcast_kinds)" -- "$current") ;;
    simulate|sweep|converge|stragglers|check) mapfile -t COMPREPLY < <(compgen -f -W "$(_stepcast_names jobs)" -- "$current") ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
  esac
}
complete -o filenames -F _stepcast stepcast
