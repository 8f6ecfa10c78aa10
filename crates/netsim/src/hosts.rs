//! [`machine_of_several!`](crate::machine_of_several): hosts of several kinds in one simulation.

/// Implements `Machine` for an enum of machines, by the machine of the variant: a simulation runs
/// machines of one type, and its hosts are of several. Behind each variant stands how it is polled
/// for an event of the enum's.
///
/// ```
/// use anabranch_netsim::machine_of_several;
/// # use anabranch_sansio::{Datagram, Machine, Time, Transmit, Wakeup};
/// # struct Camera;
/// # struct Screen;
/// # macro_rules! idle {
/// #     ($machine:ty, $event:ty) => {
/// #         impl Machine for $machine {
/// #             type Event = $event;
/// #             fn handle_datagram(&mut self, _: Time, _: Datagram<'_>) {}
/// #             fn handle_timeout(&mut self, _: Time) {}
/// #             fn poll_transmit(&mut self, _: Time, _: &mut Vec<u8>) -> Option<Transmit> { None }
/// #             fn poll_timeout(&self) -> Option<Wakeup> { None }
/// #             fn poll_event(&mut self) -> Option<$event> { None }
/// #         }
/// #     };
/// # }
/// # idle!(Camera, ());
/// # idle!(Screen, u64);
///
/// enum Host {
///     Camera(Camera),
///     Screen(Box<Screen>),
/// }
///
/// machine_of_several!(Host: u64 {
///     Camera(_) => None,
///     Screen(screen) => screen.poll_event(),
/// });
/// ```
#[macro_export]
macro_rules! machine_of_several {
    ($host:ident : $event:ty { $($variant:ident($machine:pat) => $poll:expr),+ $(,)? }) => {
        impl $crate::anabranch_sansio::Machine for $host {
            type Event = $event;

            fn handle_datagram(
                &mut self,
                now: $crate::anabranch_sansio::Time,
                datagram: $crate::anabranch_sansio::Datagram<'_>,
            ) {
                match self {
                    $(Self::$variant(machine) => machine.handle_datagram(now, datagram),)+
                }
            }

            fn handle_timeout(&mut self, now: $crate::anabranch_sansio::Time) {
                match self {
                    $(Self::$variant(machine) => machine.handle_timeout(now),)+
                }
            }

            fn poll_transmit(
                &mut self,
                now: $crate::anabranch_sansio::Time,
                buf: &mut Vec<u8>,
            ) -> Option<$crate::anabranch_sansio::Transmit> {
                match self {
                    $(Self::$variant(machine) => machine.poll_transmit(now, buf),)+
                }
            }

            fn poll_timeout(&self) -> Option<$crate::anabranch_sansio::Wakeup> {
                match self {
                    $(Self::$variant(machine) => machine.poll_timeout(),)+
                }
            }

            fn poll_event(&mut self) -> Option<$event> {
                match self {
                    $(Self::$variant($machine) => $poll,)+
                }
            }

            fn set_tracing(&mut self, on: bool) {
                match self {
                    $(Self::$variant(machine) => machine.set_tracing(on),)+
                }
            }

            fn poll_trace(&mut self) -> Option<$crate::anabranch_sansio::TraceRecord> {
                match self {
                    $(Self::$variant(machine) => machine.poll_trace(),)+
                }
            }
        }
    };
}
