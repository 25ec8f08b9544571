# Answers requests for files and commands, one on each line, so that no process has to be started for a file.
# Each line of an answer begins with a space; the last one is `=` and a number, negative for a file that cannot be read,
# or the exit code of a command.
{
    request = substr($0, 3)
    if ($0 ~ /^R/ && request ~ /^\/proc\/[0-9]+\/io$/ && !has_io) {
        print "=-1"
    } else if ($0 ~ /^R/) {
        while ((code = (getline line < request)) > 0)
            print " " line
        close(request)
        print "=" code
    } else {
        command = "{ " request "\n} 2>&1 </dev/null; code=$?; echo; echo \"$code\""
        code = 0
        was_read = 0
        while ((command | getline line) > 0) {
            if (was_read)
                print " " code
            code = line
            was_read = 1
        }
        close(command)
        print "=" code
    }
    fflush()
}
