import ArgumentParser
import Operations
import Wire

/// What a customer numbers and names, and commands take by either. No two of a customer have one name.
protocol NamedThing: NumberedReply {
  static var listing: Operation<PageRequest<Number>, Void, Page<Self, Number>> { get }
}

extension ListReply: NamedThing { static let listing = ListOperations.list }
extension SegmentReply: NamedThing { static let listing = SegmentOperations.list }
extension TriggerReply: NamedThing { static let listing = TriggerOperations.list }

/// Which of the things that a customer numbers and names.
struct ReferenceOptions<Thing: NamedThing>: ParsableArguments {
  @Argument(help: ArgumentHelp("Name or number of the \(Thing.noun).", valueName: Thing.noun))
  var reference: FilterReference
  @Option(help: "Number of the customer.") var customer: CustomerID

  /// Of a command that was resolved.
  var number: Thing.Number { Thing.Number(reference.number ?? 0) }

  /// - Throws: `CommandFailure` if the customer has none.
  func number(in stores: ManagementStores) async throws -> Thing.Number {
    try await stores.number(of: reference, Thing.self, customer, argument: "<\(Thing.noun)>")
  }
}

/// A command about one of the things that a customer numbers and names.
protocol NamedCommand: OperationCommand {
  associatedtype Thing: NamedThing
  var which: ReferenceOptions<Thing> { get set }
}

extension NamedCommand {
  var customer: CustomerID { which.customer }

  func resolved(in stores: ManagementStores) async throws -> Self {
    var command = self
    command.which.reference = .number(try await which.number(in: stores).rawValue)
    return command
  }
}

extension NamedCommand where Target == Thing.Number {
  var target: Thing.Number { which.number }
}

extension ManagementStores {
  /// Looks up what a command names. Names are compared byte for byte.
  /// - Parameter argument: by which it was named, for errors.
  /// - Throws: `CommandFailure` if the customer has none.
  func number<Thing: NamedThing>(
    of reference: FilterReference, _: Thing.Type, _ customer: CustomerID, argument: String
  ) async throws -> Thing.Number {
    var page = PageRequest<Thing.Number>(limit: PageRequest<Thing.Number>.limits.upperBound)
    // The thing of a number is the first one behind the number before.
    if let number = reference.number { (page.after, page.limit) = (Thing.Number(max(number, 1) - 1), 1) }
    repeat {
      let found = try await call(Thing.listing, of: customer, page, ())
      for thing in found.items where thing.isNamed(by: reference) { return thing.number }
      page.after = reference.number == nil ? found.next : nil
    } while page.after != nil
    switch reference {
    case .number(let number, _):
      throw CommandFailure("\(argument) names \(Thing.noun) \(number), and there is none of this number.")
    case .name(let name, _):
      throw CommandFailure(
        "\(argument) names \(Thing.noun) '\(name.text.onOneLine)', and there is none of this name.")
    }
  }
}

extension NamedThing {
  fileprivate func isNamed(by reference: FilterReference) -> Bool {
    switch reference {
    case .number(let number, _): number == self.number.rawValue
    case .name(let name, _): name == UTF8String(self.name)
    }
  }
}
