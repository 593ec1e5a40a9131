package import Wire

extension Audience {
  /// Who is meant, for people, as in `contacts who meet country = 'SE', without those who meet has device`.
  ///
  /// Command line and console have it from here, the console with names of lists and segments where it looks them up.
  /// - Parameter shown: how a count is written.
  package func words(counting shown: (Int) -> String = { "\($0)" }) -> String {
    let included =
      switch included {
      case .all, .excluding: "every contact"
      case .list(let list): "list \(list)"
      case .lists(let lists): "lists \(lists.map(\.description).asList()), each contact once"
      case .originalIds(let ids) where ids.count > Self.idsShown: "\(shown(ids.count)) original ids"
      case .originalIds(let ids): (ids.count == 1 ? "original id " : "original ids ") + ids.asList()
      case .segment(let segment): "segment \(segment)"
      case .filter(let filter): "contacts who meet \(filter.text)"
      }
    return included + exclusionWords
  }

  /// What follows those who are meant, as in `, without those who meet has device`; empty where nobody is left out.
  package var exclusionWords: String { exclude.map { ", without those who meet \($0.text)" } ?? "" }

  /// More original ids are counted.
  private static let idsShown = 3
}

extension String {
  /// The text with its first letter in upper case, as sentences begin.
  package var beginningUpper: String { prefix(1).uppercased() + dropFirst() }
}
