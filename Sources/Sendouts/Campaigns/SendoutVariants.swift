import Content
import Delivery
import Postgres
import Registry
import Wire

// What a sendout with variants says, and what is checked of it.
extension SendoutRules {
  /// The message as each variant has it, checked without the database. Every hub compiles its own.
  static func choices(_ request: SendoutRequest) throws -> MessageChoices {
    let variants = request.campaign.variants ?? []
    let choices = try MessageChoices(request.message, variants: variants)
    try checkLink(choices.own, beside: request.template)
    for (index, variant) in variants.enumerated()
    where choices.variants[index].hasLink && (variant.template ?? request.template) != nil {
      throw SendoutError.invalid(
        field: "variants[\(index)].\(variant.message.url == nil ? "template" : "message.url")",
        problem: variant.message.url == nil
          ? "is there beside the message's url, and its page is the url: leave out one of them"
          : "is there beside template, whose page is the url: leave out one of them")
    }
    return choices
  }

  /// The current versions of the templates that variants have of their own, in the order of the variants; nil for those without.
  /// - Parameter isHeld: whether they must not be removed before the transaction ends, which names them.
  /// - Throws: `SendoutError.invalid` for one that there is not.
  static func templateVersions(
    _ customer: CustomerID, _ variants: [MessageVariant]?, in database: any Querying, isHeld: Bool = false
  ) async throws -> [Int32?] {
    var versions: [Int32?] = []
    for (index, variant) in (variants ?? []).enumerated() {
      do {
        versions.append(try await currentTemplate(customer, variant.template, in: database, isHeld: isHeld)?.version)
      } catch SendoutError.invalid(field: "template", problem: let problem) {
        throw SendoutError.invalid(field: "variants[\(index)].template", problem: problem)
      }
    }
    return versions
  }
}

extension Sendout {
  /// What the pushes of a broadcast say.
  func said() throws -> SendoutPlan.Content {
    let variants = try variantContents()
    return variants.isEmpty ? .same(try content()) : .variants(variants)
  }

  /// What each variant says, in their order; none without variants.
  func variantContents() throws -> [MessageContent] {
    guard let variants = try campaign().variants else { return [] }
    let choices = try MessageChoices(try message(), variants: variants)
    return zip(variants, choices.variants).map { variant, message in
      var content = MessageContent(
        template: message,
        sendout: SendoutFields(id: key.sendout.rawValue, name: name, fields: message.givenFields),
        hasPage: (variant.template ?? template?.name) != nil, purpose: purpose)
      content.expiresAt = startedAt.flatMap { MessageContent.expiry(of: message.ttl, from: $0) }
      return content
    }
  }
}

extension SendoutError {
  /// Of a name that none of a sendout's variants has.
  static func unknownVariant(among variants: [MessageVariant]) -> SendoutError {
    let names = variants.isEmpty ? "has none" : "has \(variants.map(\.name).asList())"
    return .invalid(field: "variant", problem: "names no variant of this sendout, which \(names)")
  }
}
