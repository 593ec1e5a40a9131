import Content
import Postgres
import Providers
import Registry

/// What several parts of the hub stand on.
struct HubParts: Sendable {
  let pool: Pool
  /// The database for requests: a call that takes longer than four seconds fails, and the client is asked to try again.
  let requestDatabase: any Querying
  let vault: Vault
  let accessKeys: AccessKeyCache
  let pushApps: PushAppCache
  let links: PublicLinks
  let signer: LinkSigner
  let apns: APNsProvider
  let readiness: Readiness

  init(pool: Pool, vault: Vault, links: PublicLinks, signer: LinkSigner, apns: APNsProvider, readiness: Readiness) {
    self.pool = pool
    self.vault = vault
    self.links = links
    self.signer = signer
    self.apns = apns
    self.readiness = readiness
    requestDatabase = pool.limited(to: .seconds(4))
    accessKeys = AccessKeyCache(requestDatabase)
    pushApps = PushAppCache(requestDatabase)
  }
}
