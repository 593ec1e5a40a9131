import Wire

extension SendoutReply {
  /// The sendout for people: what it is, and where its pushes stand.
  var text: String {
    var text = "Sendout \(sendoutId), \(name), to \(appId): \(state.rawValue)\n"
    if let haltReason { text += "The hub paused it: \(haltReason)\n" }
    if let unknownOriginalIds, unknownOriginalIds > 0 {
      text += "Original ids that nobody has: \(unknownOriginalIds)\n"
    }
    guard let counts else { return text }
    var table = TextTable("Pushes", "#Count")
    for (name, count) in counts.named where count > 0 || ["audience", "accepted", "failed", "opened"].contains(name) {
      table.add(name, "\(count)")
    }
    return text + table.text(empty: "")
  }
}

extension SendoutCounts {
  /// Every count with the name it has in JSON.
  var named: [(String, Int)] {
    [
      ("audience", audience), ("queued", queued), ("sending", sending), ("waiting", waiting), ("sent", sent),
      ("accepted", accepted), ("failed", failed), ("uncertain", uncertain), ("skipped", skipped),
      ("cancelled", cancelled), ("opened", opened),
    ]
  }

  /// Pushes that have their outcome.
  var settled: Int { accepted + failed + uncertain + skipped + cancelled }
}
