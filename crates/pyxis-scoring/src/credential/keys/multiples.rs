//! Products of points that are known in advance, summed for many at once.
//!
//! To add two points takes a division, which costs as much as a hundred multiplications. Where many pairs are
//! to be added, one division is enough for all (Montgomery 1987, section 10.3.1), so the sums grow together:
//! each by one term, then each by the next. Nothing here is secret.

use k256::elliptic_curve::BatchNormalize;
use k256::elliptic_curve::ff::PrimeField;
use k256::elliptic_curve::hazmat::FieldArithmetic;
use k256::elliptic_curve::point::AffineCoordinates;
use k256::{AffinePoint, FieldBytes, ProjectivePoint, Scalar, Secp256k1};

/// Coordinates, reduced only where it is needed: a factor may be a sum of up to eight products, and what is kept
/// is brought back to one.
type Field = <Secp256k1 as FieldArithmetic>::FieldElement;

/// Bytes of a scalar, and what a byte can be but 0.
const PLACES: usize = 32;
const DIGITS: usize = 255;

/// A point that is not the one at infinity.
#[derive(Clone, Copy)]
pub(super) struct Point {
    x: Field,
    y: Field,
}

impl Point {
    /// The first coordinate.
    pub(super) fn x(&self) -> FieldBytes {
        self.x.to_bytes()
    }

    /// Whether the second coordinate is odd.
    pub(super) fn is_odd(&self) -> bool {
        self.y.normalize().is_odd().into()
    }

    fn of(point: &AffinePoint) -> Option<Self> {
        let field = |bytes| Option::from(Field::from_repr(bytes));
        Some(Self { x: field(point.x())?, y: field(point.y())? })
    }
}

/// A point times every byte in every place of a scalar: its product with a scalar is the sum of 32 of these.
pub(super) struct Multiples(Vec<Point>);

impl Multiples {
    /// Those of a point that is not the one at infinity.
    pub(super) fn of(mut point: ProjectivePoint) -> Self {
        let mut multiples = Vec::with_capacity(PLACES * DIGITS);
        for _place in 0..PLACES {
            let mut multiple = ProjectivePoint::IDENTITY;
            for _digit in 0..DIGITS {
                multiple += point;
                multiples.push(multiple);
            }
            point += multiple;
        }
        let multiples = ProjectivePoint::batch_normalize_vartime(multiples.as_slice());
        // The order of the curve is a prime greater than each of the factors.
        Self(
            multiples
                .iter()
                .map(|point| Point::of(point).expect("a coordinate is below the modulus"))
                .collect(),
        )
    }
}

/// A point times a scalar, yet to be summed up.
pub(super) struct Product<'m> {
    multiples: &'m Multiples,
    digits: FieldBytes,
}

impl<'m> Product<'m> {
    pub(super) fn of(multiples: &'m Multiples, scalar: &Scalar) -> Self {
        Self { multiples, digits: scalar.to_bytes() }
    }

    /// Its term in a place, 0 being the lowest; `None` for one that adds nothing.
    fn term(&self, place: usize) -> Option<&'m Point> {
        let digit = usize::from(self.digits[PLACES - 1 - place]).checked_sub(1)?;
        self.multiples.0.get(place * DIGITS + digit)
    }
}

/// The sum of the products in each row, `None` for the point at infinity. `None` instead of all where two points
/// with the same first coordinate had to be added, which takes another formula: only who knows the secret of a key
/// can bring that about, and gains that its batch costs what recovery costs.
pub(super) fn sums(rows: &[[Product<'_>; 2]]) -> Option<Vec<Option<Point>>> {
    let mut sums = vec![None; rows.len()];
    let mut additions = Vec::with_capacity(rows.len());
    for column in 0..2 {
        for place in 0..PLACES {
            let terms = rows.iter().map(|row| row[column].term(place));
            add_each(&mut sums, terms, &mut additions)?;
        }
    }
    Some(sums)
}

/// An addition that waits for its division.
struct Addition<'m> {
    index: usize,
    term: &'m Point,
    /// What all additions before it divide by, multiplied.
    before: Field,
}

/// Adds to each sum its term, if it has one.
fn add_each<'m>(
    sums: &mut [Option<Point>],
    terms: impl Iterator<Item = Option<&'m Point>>,
    additions: &mut Vec<Addition<'m>>,
) -> Option<()> {
    let mut product = Field::ONE;
    for (index, (sum, term)) in sums.iter_mut().zip(terms).enumerate() {
        let Some(term) = term else { continue };
        match sum {
            None => *sum = Some(*term),
            Some(sum) => {
                additions.push(Addition { index, term, before: product });
                product = product.mul(&run(sum, term));
            }
        }
    }
    let mut inverse: Field = Option::from(product.invert_vartime())?;
    for Addition { index, term, before } in additions.drain(..).rev() {
        let sum = sums[index].as_mut().expect("it was there");
        let slope = inverse.mul(&before).mul(&(term.y + sum.y.negate(1)));
        inverse = inverse.mul(&run(sum, term));
        let x = (slope.square() + (sum.x + term.x).negate(2)).normalize_weak();
        let y = (slope.mul(&(sum.x + x.negate(1))) + sum.y.negate(1)).normalize_weak();
        *sum = Point { x, y };
    }
    Some(())
}

/// How far apart the first coordinates are.
fn run(sum: &Point, term: &Point) -> Field {
    term.x + sum.x.negate(1)
}
