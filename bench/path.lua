-- Asks for one path. Arguments: the path; the round.
function init(args)
  wrk.path = args[1]
end
