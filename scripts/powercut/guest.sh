#!/bin/busybox sh
# What the machine runs: it looks at the execution that the last power cut has
# left, says what it finds, and goes on with it until the next one. A line that
# begins with POWER is for the host.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp HANK_STATE_DIR=/disk/registry
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
while read -r name; do
	insmod "/modules/$name.ko" || echo "POWER broken the kernel takes no module $name"
done </modules/order
mount -t ext4 /dev/vda /disk || echo 'POWER broken the disk cannot be mounted'
execution=$(sed -n 's/.*execution=\([^ ]*\).*/\1/p' /proc/cmdline)
echo 'POWER on'
cd /disk || exit
if [ -e "$execution/.hankweave" ]; then
	hank doctor -e "$execution" >/tmp/doctor 2>&1
	code=$?
	[ $code = 0 ] || sed 's/^/POWER said /' /tmp/doctor
	echo "POWER doctor $code"
	hank checkpoints -e "$execution" --limit 0 --json | sed -n 's/.*"sha": "\(.\{12\}\).*/POWER has \1/p'
fi
echo 'POWER listed'
# The kernel has lost what no codon had synced of its own files; their checkpoint has it.
hank run /hank -e "$execution" --restore </dev/null
code=$?
echo "POWER ended $code"
hank doctor -e "$execution"
echo "POWER doctor $?"
hank checkpoints -e "$execution" --limit 0 --json | sed -n 's/.*"sha": "\(.\{12\}\).*/POWER has \1/p'
cd "/disk/$execution/agentRoot" && echo "POWER tree $(find . -type f | sort | xargs sha256sum | sha256sum | cut -c1-16)"
cd /
umount /disk
echo 'POWER off'
poweroff -f
