import ArgumentParser
import Operations
import Registry
import Wire

struct SoftphoneCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "softphone", abstract: "Set what a customer's softphones report.", subcommands: [Reporter.self])

  struct Reporter: OperationCommand {
    static let operation = CustomerOperations.change
    static let configuration = CommandConfiguration(
      abstract: "Name the fields that softphones' push token reporter sends.",
      discussion: """
        Give the names that the operator's provisioning has in pushTokenReporterPostData. Fields that are not mapped have the names \
        of their variables: \(ReporterField.allCases.map(\.rawValue).joined(separator: ", ")). \(ReporterField.password) is never read.

        Example: pushcart softphone reporter --customer 1 --map selector=acc pushTokenOther=tok
        """)

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(
      parsing: .upToNextOption,
      help: ArgumentHelp(
        "A variable, and the field that has it. Replaces the whole mapping.", valueName: "variable=field"))
    var map: [String] = []
    @Flag(help: "Go back to the names of the variables.") var reset = false
    @OptionGroup var options: ManagementOptions

    func validate() throws {
      guard map.isEmpty == reset else { throw ValidationError("Give --map VARIABLE=FIELD …, or --reset.") }
      if map.contains(where: { !$0.contains("=") || $0.hasPrefix("=") || $0.hasSuffix("=") }) {
        throw ValidationError("--map takes variable=field.")
      }
    }

    var body: CustomerChangeRequest {
      let pairs = map.map { pair in
        (String(pair.prefix { $0 != "=" }), String(pair.drop { $0 != "=" }.dropFirst()))
      }
      return CustomerChangeRequest(reporterFields: Dictionary(pairs) { $1 })
    }

    func text(_ customer: CustomerReply) -> String {
      let fields = ReporterField.allCases.map {
        "\($0.rawValue)=\(customer.reporterFields?[$0.rawValue] ?? $0.rawValue)"
      }
      return "Softphones report: \(fields.joined(separator: " ").onOneLine)\n"
    }
  }
}
