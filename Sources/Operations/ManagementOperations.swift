/// Every operation of the management API, in the order of the API's description.
package enum ManagementOperations {
  package static let all =
    KeyOperations.all + CustomerOperations.all + ListOperations.all + TemplateOperations.all + SendoutOperations.all
    + TriggerOperations.all + HybridAppOperations.all + DatasyncOperations.all + ReportOperations.all

  /// What the API's description has of a group of them.
  package static func descriptions(of tags: APIOperation.Tag...) -> [APIOperation] {
    all.map(\.description).filter { tags.contains($0.tag) }
  }
}
