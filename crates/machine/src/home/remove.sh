# Removes the directory $1 with dyno's marker $2.
[ -e "$1" ] || [ -h "$1" ] || exit 0
if [ -h "$1" ] || [ ! -d "$1" ] || [ ! -O "$1" ]; then
    echo "$1 is not a directory of this user"
    exit 1
fi
if [ ! -f "$1/$2" ]; then
    rmdir "$1"
    exit
fi
if grep -qF " $1/" /proc/self/mountinfo; then
    echo "a file system is mounted in $1"
    exit 1
fi
find "$1" -xdev -depth -delete
