package import Wire

/// A change of who is on a list, or in a static segment.
package struct MembersChange: Sendable {
  package let joined: [ContactID]
  package let left: [ContactID]
  package let reply: MembersReply

  /// - Parameters:
  ///   - joined: those that were not in it before.
  ///   - left: those that were.
  ///   - unknown: original ids that no contact has.
  package init(joined: [ContactID], left: [ContactID], unknown: [String]) {
    self.joined = joined
    self.left = left
    reply = MembersReply(added: joined.count, removed: left.count, unknownOriginalIds: unknown)
  }
}

extension MembersRequest {
  /// The original ids to put in and to take out, none in both.
  /// - Throws: `RegistryError.invalid`, naming the field.
  package func checked() throws(RegistryError) -> (add: [String], remove: [String]) {
    let (add, remove) = (add ?? [], remove ?? [])
    guard !add.isEmpty || !remove.isEmpty else {
      throw .invalid(field: "add", problem: "is missing, and so is remove: give one of them")
    }
    for (field, ids) in [("add", add), ("remove", remove)] {
      guard ids.count <= Self.maximumCount else {
        throw .invalid(
          field: field, problem: "holds \(ids.count) original ids, and \(Self.maximumCount) are allowed: import more")
      }
      for (index, id) in ids.enumerated() where !id.isEmpty {
        let rule = TextRule("\(field)[\(index)]", maximum: Registration.maximumOriginalID, allowsControls: true)
        _ = try rule.require(id)
      }
    }
    let removed = Set(remove.map { UTF8String($0) })
    if let both = add.firstIndex(where: { removed.contains(UTF8String($0)) }) {
      throw .invalid(field: "add[\(both)]", problem: "is in remove, too")
    }
    return (add, remove)
  }
}
