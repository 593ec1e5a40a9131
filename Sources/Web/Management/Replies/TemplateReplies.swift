public import Content
public import Wire

extension TemplateReply {
  /// With its text.
  public init(_ template: Template) {
    self.init(
      name: template.name, version: template.version, contentType: template.format.contentType,
      createdAt: Timestamp(template.createdAt), body: template.body)
  }

  /// Without its text, for lists.
  public init(_ summary: TemplateSummary) {
    self.init(
      name: summary.name, version: summary.version, contentType: summary.format.contentType,
      createdAt: Timestamp(summary.createdAt))
  }
}
