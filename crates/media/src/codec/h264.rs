//! H.264 NAL units, the scalable extension (SVC, annex F; formerly G) included.

use super::nal::BitReader;
use super::{Class, Layer, Verdict};

/// nal_unit_type (ITU-T H.264 table 7-1).
pub mod nal_unit_type {
    /// A slice of a picture that is no IDR picture.
    pub const SLICE: u8 = 1;
    /// The first part of a partitioned slice.
    pub const SLICE_PARTITION_A: u8 = 2;
    /// A slice of an IDR picture.
    pub const IDR_SLICE: u8 = 5;
    /// Supplemental enhancement information.
    pub const SEI: u8 = 6;
    /// Sequence parameter set.
    pub const SPS: u8 = 7;
    /// Picture parameter set.
    pub const PPS: u8 = 8;
    /// Access unit delimiter.
    pub const ACCESS_UNIT_DELIMITER: u8 = 9;
    /// Prefix in front of a base layer slice.
    pub const PREFIX: u8 = 14;
    /// Sequence parameter set of an enhancement layer.
    pub const SUBSET_SPS: u8 = 15;
    /// A slice of an enhancement layer.
    pub const SLICE_EXTENSION: u8 = 20;
}

/// The header of a NAL unit, 1 byte or 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NalHeader {
    /// 0: no other picture is predicted from this one.
    pub nal_ref_idc: u8,
    /// What the unit is, see [`nal_unit_type`].
    pub nal_unit_type: u8,
    /// Of types 14 and 20 if the stream is scalable.
    pub svc: Option<SvcExtension>,
}

/// The three bytes that a scalable stream adds (ITU-T H.264 section F.7.3.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SvcExtension {
    /// The layer begins an IDR picture.
    pub idr: bool,
    /// Lower is more important.
    pub priority_id: u8,
    /// Which spatial or coarse quality layer.
    pub dependency_id: u8,
    /// Which fine quality layer.
    pub quality_id: u8,
    /// Which temporal layer.
    pub temporal_id: u8,
    /// May be left out of higher layers' decoding.
    pub discardable: bool,
}

impl NalHeader {
    /// Reads the header at the start of a NAL unit; `None` if the unit is shorter.
    #[must_use]
    pub fn parse(unit: &[u8]) -> Option<Self> {
        let first = *unit.first()?;
        let mut header =
            Self { nal_ref_idc: first >> 5 & 3, nal_unit_type: first & 0x1f, svc: None };
        if header.has_extension() {
            let [a, b, c] = *unit.get(1..)?.first_chunk::<3>()?;
            // svc_extension_flag: otherwise the bytes are those of a multiview stream.
            header.svc = (a & 0x80 != 0).then_some(SvcExtension {
                idr: a & 0x40 != 0,
                priority_id: a & 0x3f,
                dependency_id: b >> 4 & 0x07,
                quality_id: b & 0x0f,
                temporal_id: c >> 5,
                discardable: c & 0x08 != 0,
            });
        }
        Some(header)
    }

    /// Bytes of the header.
    #[must_use]
    pub const fn header_len(&self) -> usize {
        if self.has_extension() { 4 } else { 1 }
    }

    const fn has_extension(&self) -> bool {
        matches!(self.nal_unit_type, nal_unit_type::PREFIX | nal_unit_type::SLICE_EXTENSION)
    }

    /// The layer that the unit belongs to.
    #[must_use]
    pub fn layer(&self) -> Layer {
        self.svc.map_or(Layer::BASE, |svc| Layer(svc.dependency_id + svc.quality_id))
    }
}

/// slice_type (ITU-T H.264 table 7-6), with and without the promise that all slices are alike.
fn is_intra(slice_type: u32) -> bool {
    matches!(slice_type % 5, 2 | 4)
}

/// What a NAL unit says of its access unit, if it is a slice.
pub(super) fn verdict(unit: &[u8]) -> Option<Verdict> {
    use nal_unit_type as t;
    let header = NalHeader::parse(unit)?;
    let payload = unit.get(header.header_len()..)?;
    let class = match header.nal_unit_type {
        t::IDR_SLICE => Class::KeyFrame,
        t::SLICE | t::SLICE_PARTITION_A => slice_class(header.nal_ref_idc, payload)?,
        t::SLICE_EXTENSION => return layer_verdict(unit),
        _ => return None,
    };
    Some(Verdict { class, layer: header.layer() })
}

/// What the header of an enhancement layer's slice says.
pub(super) fn layer_verdict(unit: &[u8]) -> Option<Verdict> {
    let header = NalHeader::parse(unit)?;
    if header.nal_unit_type != nal_unit_type::SLICE_EXTENSION {
        return None;
    }
    let class = match header.svc {
        Some(SvcExtension { idr: true, .. }) => Class::KeyFrame,
        _ if header.nal_ref_idc == 0 => Class::Disposable,
        _ => Class::Reference,
    };
    Some(Verdict { class, layer: header.layer() })
}

/// True if a NAL unit is one that only scalable streams have.
pub(super) fn is_scalable(unit: &[u8]) -> bool {
    use nal_unit_type as t;
    NalHeader::parse(unit)
        .is_some_and(|header| header.nal_unit_type == t::SUBSET_SPS || header.svc.is_some())
}

/// A picture of intra slices that others refer to is where broadcast streams without IDR pictures
/// can be entered (open groups of pictures).
fn slice_class(nal_ref_idc: u8, payload: &[u8]) -> Option<Class> {
    if nal_ref_idc == 0 {
        return Some(Class::Disposable);
    }
    let mut bits = BitReader::new(payload);
    let _first_mb_in_slice = bits.ue()?;
    let slice_type = bits.ue()?;
    Some(if is_intra(slice_type) { Class::KeyFrame } else { Class::Reference })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(unit: &[u8]) -> Option<Class> {
        verdict(unit).map(|verdict| verdict.class)
    }

    #[test]
    fn slices_are_classed_by_type_and_reference() {
        assert_eq!(class(&[0x65, 0x88]), Some(Class::KeyFrame), "IDR");
        assert_eq!(class(&[0x41, 0x9a]), Some(Class::Reference), "slice_type 5: P");
        assert_eq!(class(&[0x61, 0x88]), Some(Class::KeyFrame), "slice_type 7: I");
        assert_eq!(class(&[0x01, 0x9e]), Some(Class::Disposable), "slice_type 6: B, unreferenced");
        assert_eq!(class(&[0x41, 0x9e]), Some(Class::Reference), "slice_type 6: B, referenced");
    }

    #[test]
    fn parameter_sets_and_cut_slices_say_nothing() {
        for unit in
            [&[0x67, 1, 2][..], &[0x68, 1], &[0x06, 5], &[0x09, 0xf0], &[0x41], &[], &[0x74]]
        {
            assert_eq!(class(unit), None, "{unit:02x?}");
        }
    }

    #[test]
    fn svc_extensions_are_read() {
        let header = NalHeader::parse(&[0x54, 0x80 | 0x40 | 9, 0x80 | 2 << 4 | 3, 4 << 5 | 0x0f]);
        let svc = SvcExtension {
            idr: true,
            priority_id: 9,
            dependency_id: 2,
            quality_id: 3,
            temporal_id: 4,
            discardable: true,
        };
        let header = header.unwrap();
        assert_eq!(header, NalHeader { nal_ref_idc: 2, nal_unit_type: 20, svc: Some(svc) });
        assert_eq!(header.layer(), Layer(5));
        let multiview = NalHeader::parse(&[0x54, 0x40, 0, 0]).unwrap();
        assert_eq!((multiview.svc, multiview.layer()), (None, Layer::BASE));
    }
}
