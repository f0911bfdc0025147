-- Requests one path. Arguments: the path; round.
function init(args)
  wrk.path = args[1]
end
