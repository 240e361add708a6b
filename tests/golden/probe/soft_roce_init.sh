#!/bin/bash
# The first process of the virtual machine: creates two Soft-RoCE devices on a veth pair and runs the probe over links
# of several delays and rates. Prints `@doctor CODE REPORT`, then `@ DELAY_US RATE_MBIT LINE` for every line of results.
/bin/busybox --install -s /sbin 2>/dev/null
export PATH=/bin:/sbin LD_LIBRARY_PATH=/lib/x86_64-linux-gnu HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
exec </dev/console >/dev/console 2>&1
echo 3 >/proc/sys/kernel/printk
for module in veth sch_netem rdma_rxe ib_uverbs; do modprobe $module || echo "no module $module"; done
ulimit -l unlimited
ip link set lo up
# Both ends are in one namespace: packets leave through one end and arrive at the other. Both addresses are local.
ip link add left type veth peer name right
n=1
for end in left right; do
  ip link set $end mtu 4500 address 02:00:00:00:00:0$n
  ip addr add 10.0.$n.1/32 dev $end
  ip link set $end up
  echo 1 >/proc/sys/net/ipv4/conf/$end/accept_local
  n=2
done
for all in all default left right; do echo 0 >/proc/sys/net/ipv4/conf/$all/rp_filter; done
ip route add 10.0.2.1/32 dev left
ip route add 10.0.1.1/32 dev right
ip neigh add 10.0.2.1 lladdr 02:00:00:00:00:02 dev left
ip neigh add 10.0.1.1 lladdr 02:00:00:00:00:01 dev right
rdma link add rxe1 type rxe netdev left
rdma link add rxe2 type rxe netdev right

fabricast doctor --json /tmp/doctor.json >/dev/null 2>&1
echo "@doctor $? $(tr -d '\n' </tmp/doctor.json)"

for link in "0 0" "50 100" "50 200" "200 400" "1000 200" "500 100"; do
  set -- $link
  for end in left right; do
    tc qdisc del dev $end root 2>/dev/null
    [ "$2" = 0 ] || tc qdisc add dev $end root netem delay "$1us" rate "$2mbit" limit 10000
  done
  options="calibrate probe --backend verbs --ranks 2 --master 127.0.0.1:29577 --size 8B,1MiB --connections 1 --budget 10s"
  fabricast $options --rank 1 --device rxe2 &
  fabricast $options --rank 0 --device rxe1 >/tmp/results || echo "the probe ended with $?"
  wait
  sed "s/,\"samples_us\".*/}/; s/^/@ $1 $2 /" /tmp/results
done
echo "@ end"
poweroff -f
