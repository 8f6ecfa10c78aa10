#!/bin/sh
# The first process of user-mode Linux. Its root file system is this machine's own, read-only.
# NETWORKS holds the addresses of its interfaces, as `ADDRESS/PREFIX,ADDRESS/PREFIX;...`; the first
# of all is where peer.py is to listen.
set -eu
export PATH=/usr/sbin:/usr/bin:/sbin:/bin

# Where an ordinary user runs this, root's files look like somebody else's: mount's set-user-ID bit
# would make it that somebody.
mount_as_root() { setpriv --no-new-privs mount "$@"; }
mount_as_root -t proc proc /proc
mount_as_root -t sysfs sysfs /sys
mount_as_root -t tmpfs tmpfs /run

# modprobe looks for modules below `lib/modules` of the folder that it is told.
mkdir /run/lib
ln -s /usr/lib/uml/modules /run/lib/modules
modprobe -d /run -a sctp dccp_ipv4 hmac md5 sch_netem sch_ingress cls_matchall act_gact

set_sysctl() { echo "$2" >"/proc/sys/net/$1"; }

# RFC 6951, both directions: listen on port 9899, and send to it where nothing else is known.
set_sysctl sctp/encap_port 9899
set_sysctl sctp/udp_port 9899
# RFC 4895 and RFC 5061.
set_sysctl sctp/auth_enable 1
set_sysctl sctp/addip_enable 1
# RFC 8260, for sockets that ask for it.
set_sysctl sctp/intl_enable 1
# Paths are watched in seconds, not minutes, so that tests are; all else is as the kernel has it.
set_sysctl sctp/hb_interval 1000
set_sysctl sctp/rto_initial 1000
set_sysctl sctp/rto_max 4000
set_sysctl sctp/path_max_retrans 2

# Messages of 256 KiB pass through a socket's buffers.
set_sysctl core/wmem_max 1048576

ip link set lo up
nic=0
for addresses in $(echo "$NETWORKS" | tr ';' ' '); do
  for address in $(echo "$addresses" | tr ',' ' '); do
    case $address in
      *:*) ip address add "$address" dev "vec$nic" nodad ;;
      *) ip address add "$address" dev "vec$nic" ;;
    esac
  done
  ip link set "vec$nic" up
  # This kernel hands packets that are to be segmented by the interface to it with the SCTP layer's
  # marks, not with UDP's, and then drops them: it has to segment before.
  ethtool -K "vec$nic" tso off gso off gro off >/dev/null
  nic=$((nic + 1))
done

exec /usr/bin/python3 "$(dirname "$0")/peer.py" "${NETWORKS%%/*}"
