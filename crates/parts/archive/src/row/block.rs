//! Sixteen bytes at a time: which of them need an escape in a data file.

#![allow(unsafe_code, reason = "SSE2 loads; the proofs are beside them")]

/// Bytes looked at in one step.
pub(super) const BLOCK: usize = 16;

/// The letter after `\` for a byte that has to be escaped, 0 for all others.
pub(super) const ESCAPE: [u8; 256] = {
    let mut t = [0; 256];
    t[0] = b'0';
    t[8] = b'b';
    t[9] = b't';
    t[10] = b'n';
    t[13] = b'r';
    t[26] = b'Z';
    t[b'\\' as usize] = b'\\';
    t
};

/// One bit per byte that is below 0x20 or a backslash: a superset of what
/// needs an escape, cheap to test.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn suspects(block: &[u8; BLOCK]) -> u32 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128,
        _mm_set1_epi8,
    };
    // SAFETY: SSE2 belongs to every x86-64 target. The load is the unaligned
    // one, and reads the 16 bytes that the reference guarantees.
    unsafe {
        let bytes = _mm_loadu_si128(block.as_ptr().cast::<__m128i>());
        let control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
        let backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\\' as i8));
        _mm_movemask_epi8(_mm_or_si128(control, backslash)) as u32
    }
}

/// One bit per byte that is a TAB or a backslash: where a field may end.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn stops(block: &[u8; BLOCK]) -> u32 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    };
    // SAFETY: as in `suspects`.
    unsafe {
        let bytes = _mm_loadu_si128(block.as_ptr().cast::<__m128i>());
        let tab = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\t' as i8));
        let backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\\' as i8));
        _mm_movemask_epi8(_mm_or_si128(tab, backslash)) as u32
    }
}

/// As above for other machines, in a form that compilers vectorise.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(super) fn suspects(block: &[u8; BLOCK]) -> u32 {
    bits(block, |b| b < 0x20 || b == b'\\')
}

/// As above for other machines.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(super) fn stops(block: &[u8; BLOCK]) -> u32 {
    bits(block, |b| b == b'\t' || b == b'\\')
}

#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
fn bits(block: &[u8; BLOCK], is: impl Fn(u8) -> bool) -> u32 {
    let mut bits = 0;
    for (i, &b) in block.iter().enumerate() {
        bits |= u32::from(is(b)) << i;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_agree_and_cover_every_escape() {
        for b in 0..=255u8 {
            for i in 0..BLOCK {
                let mut block = [b'x'; BLOCK];
                block[i] = b;
                let portable = bits(&block, |b| b < 0x20 || b == b'\\');
                assert_eq!(suspects(&block), portable, "{b:#x}");
                let portable = bits(&block, |b| b == b'\t' || b == b'\\');
                assert_eq!(stops(&block), portable, "{b:#x}");
                if ESCAPE[b as usize] != 0 {
                    assert_eq!(suspects(&block), 1 << i);
                }
            }
        }
    }
}
