//! [`Issuer`]: a CA, and what it makes out.

use anabranch_keys::{Authority, Certificate};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, date_time_ymd,
};

pub(crate) use rcgen::ExtendedKeyUsagePurpose::{ClientAuth, ServerAuth};

pub(crate) struct Issuer(CertifiedIssuer<'static, KeyPair>);

/// When a certificate holds.
#[derive(Clone, Copy)]
pub(crate) enum Holds {
    Today,
    /// In the last century.
    Before,
    /// In the next one.
    Later,
}

fn pem(label: &str, der: &[u8]) -> Vec<u8> {
    let text = STANDARD.encode(der);
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n").into_bytes()
}

impl Issuer {
    pub(crate) fn new(name: &str) -> Self {
        Self(CertifiedIssuer::self_signed(authority(name), KeyPair::generate().unwrap()).unwrap())
    }

    /// One that another vouches for, and the text of its certificate.
    pub(crate) fn under(name: &str, root: &Self) -> Self {
        let key = KeyPair::generate().unwrap();
        Self(CertifiedIssuer::signed_by(authority(name), key, &root.0).unwrap())
    }

    pub(crate) fn pem(&self) -> Vec<u8> {
        pem("CERTIFICATE", self.0.der())
    }

    pub(crate) fn of_host(&self, host: &str) -> Authority {
        Authority::of_host(&self.pem(), host).unwrap()
    }

    pub(crate) fn of_anyone(&self) -> Authority {
        Authority::of_anyone(&self.pem()).unwrap()
    }

    /// A certificate and its key in PEM.
    pub(crate) fn issue_pem(
        &self,
        name: &str,
        purpose: ExtendedKeyUsagePurpose,
        holds: Holds,
    ) -> [Vec<u8>; 2] {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.extended_key_usages = vec![purpose];
        let (from, to) = match holds {
            Holds::Today => (2000, 2090),
            Holds::Before => (1990, 1999),
            Holds::Later => (2090, 2099),
        };
        (params.not_before, params.not_after) =
            (date_time_ymd(from, 1, 1), date_time_ymd(to, 1, 1));
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        [pem("CERTIFICATE", certificate.der()), pem("PRIVATE KEY", key.serialized_der())]
    }

    pub(crate) fn issue(
        &self,
        name: &str,
        purpose: ExtendedKeyUsagePurpose,
        holds: Holds,
    ) -> Certificate {
        let [certificate, key] = self.issue_pem(name, purpose, holds);
        Certificate::from_pem(&certificate, &key).unwrap()
    }
}

fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    params
}
