/// One claim of a batch. The same batch claimed again, by whomever, is another claim: who wakes up late cannot take it for its
/// own.
struct Claim: Sendable, Hashable {
  let batch: Int32
  /// How often the batch had been claimed by then.
  let ordinal: Int32
}
