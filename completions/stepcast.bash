# bash completion of stepcast; installed to share/bash-completion/completions/stepcast
_stepcast() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
  if [ "$COMP_CWORD" = 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "simulate sweep stragglers fit-stragglers check list compare validate --help --version" -- "$current")
    return
  fi
  case $previous in
    --engine) mapfile -t COMPREPLY < <(compgen -W "simgrid native analytic" -- "$current"); return ;;
    --profile) mapfile -t COMPREPLY < <(compgen -f -W "$(stepcast list profiles 2>/dev/null | cut -d' ' -f1)" -- "$current"); return ;;
    -o|--output|--chart) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
  esac
  case $current in
    -*)  # the flags that the command itself documents
      mapfile -t COMPREPLY < <(compgen -W "$(stepcast "$command" --help 2>/dev/null | grep -oE '(^|[ ,])--?[a-z][a-z-]*' | tr -d ' ,')" -- "$current")
      return ;;
  esac
  case $command in
    list) mapfile -t COMPREPLY < <(compgen -W "models clusters profiles strategies jobs schedules collectives algorithms compressors engines" -- "$current") ;;
    simulate|sweep|stragglers|check) mapfile -t COMPREPLY < <(compgen -f -W "$(stepcast list jobs 2>/dev/null | cut -d' ' -f1)" -- "$current") ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
  esac
}
complete -o filenames -F _stepcast stepcast
