import ArgumentParser

/// Options that every management command has.
struct OfficeOptions: ParsableArguments {
  @Flag(help: "Print JSON with the REST API's field names.") var json = false
  @OptionGroup(title: "Database") var database: DatabaseFlags
  @OptionGroup(title: "Secrets") var masterKeys: MasterKeyFlags

  var given: [Given] { database.given + masterKeys.given }
  var output: Output { Output(isJSON: json) }
}
