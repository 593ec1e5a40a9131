import ArgumentParser

/// Options that every management command has. Where the database is, is mostly in the environment, so `--help` keeps that for
/// `--help-hidden`.
struct ManagementOptions: ParsableArguments {
  @Flag(help: "Print JSON with the REST API's field names.") var json = false
  @OptionGroup(title: "Database", visibility: .hidden) var database: DatabaseFlags
  @OptionGroup(title: "Secrets", visibility: .hidden) var masterKeys: MasterKeyFlags

  var given: [Given] { database.given + masterKeys.given }
  var output: Output { Output(isJSON: json) }
}
