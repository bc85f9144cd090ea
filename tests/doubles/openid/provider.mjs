// A real OpenID provider for tests: node provider.mjs MODULES PORT FILE
// FILE is JSON, read again whenever somebody logs in or refreshes: {"people": {"SUBJECT": {claims}}, "closed": [SUBJECT]}.
// Whoever logs in types his subject; no password is asked. Redirect addresses of this machine are accepted.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [modules, port, file] = process.argv.slice(2);
const require = createRequire(`${modules}/package.json`);
const { Provider } = await import(pathToFileURL(`${modules}/node_modules/oidc-provider/lib/index.js`));
const told = () => JSON.parse(readFileSync(file, 'utf8'));
const issuer = `http://127.0.0.1:${port}${told().path ?? ''}`;
const names = new Set(['sub', 'groups', ...Object.values(told().people).flatMap(Object.keys)]);

const provider = new Provider(issuer, {
  clients: [{
    client_id: 'footnote',
    client_secret: 'a-secret-of-the-application',
    redirect_uris: ['http://127.0.0.1/never'],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'client_secret_post',
  }],
  async findAccount(_ctx, sub) {
    const { people, closed = [] } = told();
    if (!(sub in people) || closed.includes(sub)) return undefined;
    return { accountId: sub, claims: async () => ({ sub, ...people[sub] }) };
  },
  claims: { openid: [...names] },
  conformIdTokenClaims: false,
  discovery: { prompt_values_supported: ['none', 'login', 'consent'] },
  scopes: ['openid', 'offline_access', 'profile', 'email'],
  pkce: { required: () => told().pkce !== false },
  features: { revocation: { enabled: true }, rpInitiatedLogout: { enabled: false } },
  rotateRefreshToken: () => told().rotate !== false,
  issueRefreshToken: async (_ctx, client, code) => code.scopes.has('offline_access') && told().offline !== false,
  ttl: { Session: 3600, Interaction: 600, Grant: 86400, AccessToken: 600, IdToken: 600, RefreshToken: 86400 },
  cookies: { keys: ['only for tests'], names: { session: `_session_${port}`, interaction: `_interaction_${port}`, resume: `_resume_${port}` } }, // a host's ports share cookies
});
// eslint-disable-next-line no-unused-vars
provider.Client.prototype.redirectUriAllowed = (uri) => /^http:\/\/127\.0\.0\.1:\d+\/link\/(slack|login)\/callback$/.test(uri);
const serve = provider.callback();
createServer((request, response) => {
  const path = told().path ?? '';
  if (path && request.url.startsWith(path)) {
    request.originalUrl = request.url;
    request.url = request.url.slice(path.length) || '/';
  }
  serve(request, response);
}).listen(Number(port), '127.0.0.1', () => console.log('ready'));
process.stdin.resume();
process.stdin.on('end', () => process.exit(0)); // it ends with whoever started it
