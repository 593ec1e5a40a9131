import Testing
import Wire

@testable import Registry

/// Which fields of an app come together, for every push service.
@Suite struct CredentialFieldTests {
  private static let services = PushService.all.filter { !$0.fields.isEmpty }.map(\.name)

  private func service(_ name: PushServiceName) throws -> (PushService, AppType) {
    let service = try #require(PushService.all.first { $0.name == name })
    return (service, try #require(service.platforms.first))
  }

  private func given(_ fields: some Sequence<CredentialField>) -> PushServiceFields {
    PushServiceFields(Dictionary(uniqueKeysWithValues: fields.map { ($0, Self.value(of: $0)) }))
  }

  /// A text that the field takes.
  private static func value(of field: CredentialField) -> Secret {
    switch field.form {
    case nil: Secret("x")
    case .id(_, _, let prefix, _): Secret("\(prefix)1")
    case .contact: Secret("mailto:a@acme.com")
    }
  }

  private func refusedField(_ fields: PushServiceFields, _ type: AppType) -> String? {
    do throws(RegistryError) {
      _ = try fields.checked(for: type)
      return nil
    } catch {
      if case .invalid(let field, _) = error { return field }
      return "\(error)"
    }
  }

  @Test(arguments: AppType.allCases) func `A field is refused by its name on platforms that it does not belong to`(
    type: AppType
  ) {
    for field in CredentialField.all where !field.platforms.contains(type) {
      #expect(refusedField(given([field]), type) == field.name)
    }
  }

  @Test(arguments: services) func `All fields of a way to sign in are taken, and any that is missing is named`(
    name: PushServiceName
  ) throws {
    let (service, type) = try service(name)
    for signIn in service.signIns {
      #expect(refusedField(given(signIn.fields), type) == nil)
      for field in signIn.fields where signIn.fields.count > 1 {
        let rest = signIn.fields.filter { $0 != field }
        #expect(refusedField(given(rest), type) == field.name, "\(rest.map(\.name))")
      }
    }
  }

  @Test(arguments: services) func `Fields of two ways to sign in are refused where one takes the place of the other`(
    name: PushServiceName
  ) throws {
    let (service, type) = try service(name)
    for (place, one) in service.signIns.enumerated() {
      for other in service.signIns.dropFirst(place + 1) {
        let isRefused = refusedField(given(Set(one.fields + other.fields)), type) != nil
        #expect(isRefused == service.hasOneSignIn)
      }
    }
  }

  @Test func `Every service has a platform, and no two services store one kind of credential`() {
    for service in PushService.all {
      #expect(!service.platforms.isEmpty && service.platforms.allSatisfy { $0.service.name == service.name })
    }
    let kinds = PushService.all.map { Set($0.signIns.map(\.kind)) }
    #expect(kinds.reduce(0) { $0 + $1.count } + 2 == PushCredentialKind.allCases.count)
  }
}
