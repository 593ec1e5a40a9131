import ArgumentParser
import HTTPTypes
import Operations
import Support
import Wire

@testable import Pushcart

/// A command that calls one operation, as the tree of commands has it.
struct ManagedCommand {
  /// As in `trigger show`.
  let name: String
  let operation: APIOperation

  static let all = found(in: PushcartCommand.self, named: [])

  private static func found(in command: any ParsableCommand.Type, named path: [String]) -> [ManagedCommand] {
    // Those of groups are among them.
    let inner = command.configuration.subcommands
    guard inner.isEmpty else { return inner.flatMap { found(in: $0, named: path + [$0._commandName]) } }
    let operation: APIOperation? =
      if let type = command as? any OperationCommand.Type {
        described(type)
      } else {
        (command as? any ListingCommand.Type).map { described($0) }
      }
    return operation.map { [ManagedCommand(name: path.joined(separator: " "), operation: $0)] } ?? []
  }

  private static func described<Command: OperationCommand>(_: Command.Type) -> APIOperation {
    Command.operation.description
  }
  private static func described<Command: ListingCommand>(_: Command.Type) -> APIOperation {
    Command.operation.description
  }

  /// What the path names, which is the command's argument; `nil` if it names nothing.
  private var parameter: APIParameter? { operation.parameters.first { $0.location == .path } }

  /// Whether the command needs nothing but the customer and what the path names.
  private var needsNoOptions: Bool {
    operation.requestBody == nil && !operation.parameters.contains { $0.location == .query && $0.isRequired }
  }

  /// The paths that commands read, without `/api/v1/`, and the commands.
  /// - Parameter values: what there is, by parameters of paths.
  static func readings(_ values: [String: String]) -> [(path: String, command: [String])] {
    all.filter { $0.operation.method == .get && $0.needsNoOptions }.compactMap { command in
      var (path, words) = (command.operation.path, command.name.split(separator: " ").map(String.init))
      if let parameter = command.parameter {
        // Ids of messages are no numbers.
        guard let value = values[parameter.name], (Int64(value) == nil) == (parameter.example.text != nil) else {
          return nil
        }
        path = path.replacing("{\(parameter.name)}", with: value)
        words.append(value)
      }
      // What is a part of another thing has a number of its own.
      guard !path.contains("{") else { return nil }
      return (String(path.dropFirst("/api/v1/".count)), words)
    }
  }

  /// The options that it must have: those of the body's required fields, with the values of its example. `nil` where they are more than
  /// texts and numbers. A change can do without.
  /// - Parameter name: what a thing is called.
  private func options(name: String) -> [String]? {
    if needsNoOptions || operation.method == .patch { return [] }
    guard operation.method == .post, case .object(let fields, _, _)? = operation.requestBody?.schema.shape,
      let example = operation.exampleBody
    else { return nil }
    var options: [String] = []
    for field in fields where field.isRequired {
      guard var value = example.string(field.name) ?? example.integer(field.name).map({ "\($0)" }) else { return nil }
      if field.name == "name" { value = name }
      options += ["--\(field.name.replacing(#/[A-Z]/#) { "-\($0.output.lowercased())" })", value]
    }
    return options
  }

  /// By names of commands, arguments that name what another customer has, and what nobody has.
  static let crossings: [String: [(foreign: [String], absent: [String])]] = {
    let names = [
      "id": ("1", "999999"), "originalId": ("secretive@example.com", "nobody"),
      "appId": ("com.secretive.app", "com.nothing"),
    ]
    var crossings: [String: [(foreign: [String], absent: [String])]] = [:]
    for command in all {
      guard let options = command.options(name: "secretive"), let others = command.options(name: "other") else {
        continue
      }
      let names = command.parameter.flatMap { names[$0.name] }
      let (foreign, absent) = (names.map { [$0.0] } ?? [], names.map { [$0.1] } ?? [])
      crossings[command.name] = [(foreign: foreign + options, absent: absent + others)]
    }
    return crossings
  }()
}
