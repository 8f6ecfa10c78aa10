# One SCTP association with CMT over two paths that it keeps full; prints what left both queues, in
# Mbit/s. Nothing is traced.
lassign $argv seconds mbps delay queue mtu

set ns [new Simulator]

proc host {} {
    global ns
    set core [$ns node]
    set interfaces [list [$ns node] [$ns node]]
    foreach interface $interfaces {
        $ns multihome-add-interface $core $interface
    }
    return [list $core $interfaces]
}

proc agent {core} {
    global ns mtu
    set agent [new Agent/SCTP/CMT]
    $ns multihome-attach-agent $core $agent
    $agent set mtu_ $mtu
    # What one packet holds: 20 bytes of IP's header and 12 of SCTP's are not the chunk's.
    $agent set dataChunkSize_ [expr {($mtu - 32) / 4 * 4}]
    $agent set numOutStreams_ 2
    $agent set initialRwnd_ 4194304
    $agent set useCmtReordering_ 1
    $agent set useCmtCwnd_ 1
    $agent set useCmtDelAck_ 1
    return $agent
}

lassign [host] sender_core senders
lassign [host] receiver_core receivers
set monitors {}
foreach from $senders to $receivers {
    $ns duplex-link $from $to ${mbps}Mb $delay DropTail
    $ns queue-limit $from $to $queue
    $ns queue-limit $to $from $queue
    lappend monitors [$ns monitor-queue $from $to ""]
}

set sender [agent $sender_core]
set receiver [agent $receiver_core]
$ns connect $sender $receiver
$sender set-primary-destination [lindex $receivers 0]
set file [new Application/FTP]
$file attach-agent $sender
$ns at 0 "$file start"

proc finish {} {
    global monitors seconds
    set bytes 0
    foreach monitor $monitors {
        set bytes [expr {$bytes + [$monitor set bdepartures_]}]
    }
    puts [expr {$bytes * 8.0 / $seconds / 1e6}]
    exit 0
}
$ns at $seconds finish
$ns run
