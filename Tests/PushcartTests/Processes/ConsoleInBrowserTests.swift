import Foundation
import Support
import Testing

/// The console in a real Chromium, by Tests/Browser.
@Suite struct ConsoleInBrowserTests {
  @Test func `Every page of the console is whole and accessible, and a marketer sends with and without JavaScript`()
    async throws
  {
    let root = URL(filePath: #filePath).appending(path: "../../../..").standardized.path
    let checked = try await Shell.run(
      "PUSHCART='\(Pushcart.executable.path)' Tests/Browser/run --check 2>&1", in: root)
    #expect(checked.status == 0, "\(checked.output)")
  }
}
