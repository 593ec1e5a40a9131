import ArgumentParser
import Foundation
import Support
import Testing
import Wire

@testable import Pushcart

@Suite struct CampaignOptionsTests {
  /// A file of variants for the body's time.
  private func withVariants(_ text: String, _ body: (String) throws -> Void) throws {
    let folder = try TemporaryDirectory(named: "variants")
    defer { folder.remove() }
    let file = "\(folder.path)/variants.json"
    try text.write(toFile: file, atomically: true, encoding: .utf8)
    try body(file)
  }

  private func expectRefusal(
    _ sentence: String, of arguments: String, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(sourceLocation: sourceLocation) {
      try CampaignOptions.parse(arguments.split(separator: " ").map(String.init))
    } throws: { error in
      CampaignOptions.message(for: error) == sentence
    }
  }

  @Test func `Every field of a campaign has an option`() throws {
    try withVariants(
      #"[{"name":"A","share":10,"message":{}},{"name":"B","share":20,"message":{"alert":"x"},"template":"offer"}]"#
    ) { file in
      let common = [
        "--end-at", "2030-01-01T00:00:00Z", "--late-minutes", "90", "--repeat-every", "month", "--repeat-on", "1", "31",
        "--repeat-until", "2029-06-30", "--spread-minutes", "30", "--rate-per-second", "500", "--quiet-hours",
        "21:00-08:00/skip", "--ignore-caps", "--variants", file, "--winner-after-minutes", "240", "--winner-undecided",
        "best", "--holdout-percent", "5", "--pause-at-failed", "0.5",
      ]
      let said = #"""
        "endAt":"2030-01-01T00:00:00.000Z","lateMinutes":90,"repeat":{"every":"month","on":[1,31],"until":"2029-06-30"},
        "spreadMinutes":30,"ratePerSecond":500,"quietHours":{"start":"21:00","end":"08:00","policy":"skip"},"ignoreCaps":true,
        "variants":[{"name":"A","share":10,"message":{}},
          {"name":"B","share":20,"message":{"alert":"x"},"template":"offer"}],
        "winner":{"afterMinutes":240,"undecided":"best"},"holdoutPercent":5,"pauseAtFailed":0.5
        """#
      var given: Set<String> = []
      for (arguments, members) in [
        (["--start-at", "2028-12-24T17:30:00Z"], #""startAt":"2028-12-24T17:30:00.000Z""#),
        (
          ["--local-time", "2028-12-24T18:30", "--on-missed", "nextDay"],
          #""localTime":"2028-12-24T18:30","onMissed":"nextDay""#
        ),
      ] {
        let fields = try JSONValue(encoding: CampaignOptions.parse(arguments + common).fields)
        #expect(try fields == JSONValue(parsing: "{\(members),\(said)}".utf8))
        if case .object(let members) = fields { given.formUnion(members.keys.map(\.text)) }
      }
      guard case .object(let known, _, _) = CampaignFields.schema.shape else { return #expect(Bool(false)) }
      #expect(given == Set(known.map(\.name)))
    }
  }

  @Test func `Without options there is no campaign`() throws {
    #expect(try CampaignOptions.parse([]).fields == CampaignFields())
  }

  @Test func `Quiet hours are lifted by a flag of their own`() throws {
    #expect(try CampaignOptions.parse(["--no-quiet-hours"]).fields.quietHours == .lifted)
    expectRefusal(
      "--quiet-hours and --no-quiet-hours exclude each other.", of: "--no-quiet-hours --quiet-hours 21:00-08:00")
  }

  @Test func `What the API refuses is refused with the option's name`() {
    let start = "--start-at 2028-12-24T17:30:00Z"
    expectRefusal("--spread-minutes must be a whole number from 1 to 1440.", of: "--spread-minutes 0")
    expectRefusal("--holdout-percent must be a whole number from 1 to 50.", of: "--holdout-percent 51")
    expectRefusal("--pause-at-failed must be more than 0 and at most 1.", of: "--pause-at-failed 1.5")
    expectRefusal("--end-at must be later than --start-at.", of: "\(start) --end-at 2028-12-24T17:30:00Z")
    expectRefusal(
      "--local-time is there beside --start-at: give one of them.", of: "\(start) --local-time 2028-12-24T18:30")
    expectRefusal(
      "--repeat-on must hold days of the week, such as mon.", of: "\(start) --repeat-every week --repeat-on 3")
    expectRefusal("--repeat-on and --repeat-until belong to --repeat-every.", of: "\(start) --repeat-on mon")
    expectRefusal(
      "--repeat-every needs --start-at or --local-time, which says when the first time is.", of: "--repeat-every day")
    expectRefusal("--winner-undecided belongs to --winner-after-minutes.", of: "--winner-undecided best")
    expectRefusal(
      "--winner-after-minutes needs --variants, of which one can win.", of: "--winner-after-minutes 240")
  }

  @Test func `A refusal names options, and what is none keeps its name`() {
    let names = OptionNames(of: SendCommand.self)
    for (sentence, expected) in [
      ("startAt is over: give a moment to come.", "--start-at is over: give a moment to come."),
      ("message.alert is missing.", "--alert is missing."), ("repeat.until is over.", "--repeat-until is over."),
      ("audience.segmentId names segment 7.", "--segment names segment 7."),
      ("appId names no app.", "--app names no app."),
      ("variants[1].name is that of another.", "--variants[1].name is that of another."),
      ("message.translations.sv.alert is no template.", "--translations.sv.alert is no template."),
      ("endAt must be later than startAt.", "--end-at must be later than --start-at."),
      ("mode must be add.", "mode must be add."), ("There is no list of this name.", "There is no list of this name."),
      ("filter names list 'endAt'.", "--filter names list 'endAt'."),
    ] {
      #expect(names.naming(sentence) == expected)
    }
  }

  @Test(arguments: [
    "--local-time 2028-12-24T18:30Z", "--local-time 2028-02-30T18:30", "--start-at tomorrow", "--quiet-hours 21:00",
    "--quiet-hours 21:00-21:00", "--on-missed later", "--repeat-every year", "--repeat-every week --repeat-on monday",
    "--repeat-every month --repeat-on 32", "--repeat-every day --repeat-until 2028-02-30",
  ])
  func `Values of another form are refused`(_ arguments: String) {
    #expect(throws: (any Error).self) {
      try CampaignOptions.parse(arguments.split(separator: " ").map(String.init))
    }
  }

  @Test func `What is wrong in a file of variants is named`() throws {
    for (text, sentence) in [
      (#"[{"name":"A","message":{}}]"#, "The file of --variants is refused: [0].share is missing."),
      (
        #"[{"name":"A","share":50,"message":{}},{"name":"A","share":50,"message":{}}]"#,
        "--variants[1].name is that of another variant."
      ),
      (
        #"[{"name":"A","share":10,"message":{}},{"name":"B","share":20,"message":{}}]"#,
        "--variants have shares that add up to 30, and without winner they have to add up to 100."
      ),
    ] {
      try withVariants(text) { file in
        #expect {
          try CampaignOptions.parse(["--variants", file]).fields
        } throws: { error in
          (error as? CommandFailure)?.description == sentence
        }
      }
    }
  }
}
