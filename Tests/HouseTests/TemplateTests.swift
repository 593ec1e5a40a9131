import Content
import Foundation
import Testing

@Suite struct ShippedTemplateTests {
  private static let formats: [String: TemplateFormat] = ["html": .html, "xml": .xml, "json": .json, "txt": .text]

  @Test func `Every shipped template parses in the format that its name tells`() throws {
    let folder = House.root.appending(path: "Templates")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(names.contains("offer.html"))
    for name in names {
      let format = try #require(Self.formats[URL(filePath: name).pathExtension], "\(name)")
      _ = try PageTemplate(try House.text("Templates/\(name)"), format: format)
    }
  }
}
