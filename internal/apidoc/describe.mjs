// Cuts the description of a host's API down to the operations that our adapters call: node describe.mjs github|gitea SOURCE >FILE
// github: generated/api.github.com.json of the npm package @octokit/openapi; gitea: templates/swagger/v1_json.tmpl of its Go module.
// An answer may lack what is required of the host, for a double gives what is read; but it has nothing that is not described.
import { readFileSync } from 'node:fs'

const repo = '/repos/{owner}/{repo}'
const hosts = {
  github: {
    licence: 'MIT, Copyright GitHub',
    operations: [
      'GET /user', 'GET /users/{username}', 'GET /app', 'DELETE /installation/token',
      'POST /app/installations/{installation_id}/access_tokens',
      ...['', '/branches/{branch}', '/hooks', '/commits/{ref}/statuses', '/pulls', '/pulls/{pull_number}', '/pulls/{pull_number}/reviews',
        '/collaborators/{username}/permission', '/labels', '/issues', '/issues/{issue_number}', '/issues/{issue_number}/comments',
        '/commits/{ref}/check-runs', '/commits/{ref}/check-suites', '/commits/{commit_sha}/branches-where-head',
        '/branches/{branch}/protection/required_pull_request_reviews', '/rules/branches/{branch}', '/check-runs/{check_run_id}/annotations',
        '/pulls/{pull_number}/comments', '/issues/{issue_number}/events', '/issues/{issue_number}/dependencies/blocked_by',
        '/installation', '/git/ref/{ref}', '/actions/jobs/{job_id}/logs'].map(p => `GET ${repo}${p}`),
      ...['/hooks', '/pulls', '/labels', '/issues', '/issues/{issue_number}/comments', '/actions/jobs/{job_id}/rerun',
        '/check-runs/{check_run_id}/rerequest', '/pulls/{pull_number}/comments/{comment_id}/replies'].map(p => `POST ${repo}${p}`),
      `PATCH ${repo}/issues/{issue_number}`, `PATCH ${repo}/issues/comments/{comment_id}`, `PUT ${repo}/issues/{issue_number}/labels`,
      `PUT ${repo}/pulls/{pull_number}/merge`, `DELETE ${repo}/git/refs/{ref}`,
    ],
  },
  gitea: {
    licence: 'MIT, Copyright The Gitea Authors',
    operations: [
      'GET /user', 'GET /users/{username}', 'GET /version',
      ...['', '/branches', '/branches/{branch}', '/hooks', '/commits/{ref}/statuses', '/pulls', '/pulls/{index}', '/pulls/{index}/reviews',
        '/pulls/{index}/reviews/{id}/comments', '/collaborators/{collaborator}/permission', '/labels', '/issues', '/issues/{index}',
        '/issues/{index}/comments', '/issues/{index}/timeline', '/issues/{index}/dependencies'].map(p => `GET ${repo}${p}`),
      ...['/hooks', '/pulls', '/labels', '/issues', '/issues/{index}/comments', '/statuses/{sha}', '/pulls/{index}/merge', '/pulls/{index}/reviews',
        '/pulls/comments/{id}/resolve'].map(p => `POST ${repo}${p}`),
      `PATCH ${repo}/issues/{index}`, `PATCH ${repo}/issues/comments/{id}`, `PUT ${repo}/issues/{index}/labels`,
      `DELETE ${repo}/branches/{branch}`,
    ],
  },
}
const [host, source] = process.argv.slice(2)
const text = readFileSync(source, 'utf8').replaceAll(/\{\{[^}]*\}\}/g, '')
const from = JSON.parse(text)
// What the descriptions lack.
if (host === 'github') {
  from.components.schemas['check-run'].properties.conclusion.enum.push('stale', 'startup_failure') // GraphQL's enum has them
} else {
  from.definitions.User.properties.username = { type: 'string' } // an older name of login
  const { properties, required } = from.definitions.MergePullRequestOption // servers before 1.26 have these names alone, and 1.26 has both
  Object.assign(properties, { Do: properties.do, MergeTitleField: properties.merge_title_field })
  required[0] = 'Do'
}
const follow = part => part?.$ref ? follow(part.$ref.slice(2).split('/').reduce((at, key) => at[key], from)) : part
const schemas = {}

// Go writes null for what is not there; Swagger 2 has no word for that.
const orNull = s => (host === 'gitea' ? { anyOf: [s, { type: 'null' }] } : s)

// cut is a schema with the keywords that are held against a value. Of an answer nothing is required.
function cut(s, answer) {
  if (s.$ref) {
    const name = s.$ref.split('/').at(-1) + (answer ? '' : '.sent')
    if (!(name in schemas)) {
      schemas[name] = null
      schemas[name] = cut(follow(s), answer)
    }
    return { $ref: '#/schemas/' + name }
  }
  if (s.nullable) return { anyOf: [cut({ ...s, nullable: false, enum: s.enum?.filter(v => v !== null) }, answer), { type: 'null' }] }
  if (s.allOf?.length === 1) return cut(s.allOf[0], answer)
  if (s.allOf) {
    const all = s.allOf.map(follow)
    return cut({ type: 'object', properties: Object.assign({}, ...all.map(o => o.properties)), required: all.flatMap(o => o.required ?? []) }, answer)
  }
  const out = {}
  for (const key of ['type', 'enum']) if (s[key]) out[key] = s[key]
  if (s.format === 'date-time') out.format = s.format
  if (s.anyOf ?? s.oneOf) out.anyOf = (s.anyOf ?? s.oneOf).map(one => cut(one, answer))
  if (s.items) out.items = cut(s.items, answer)
  if (s.required?.length && !answer && s.properties) out.required = s.required
  if (s.properties) {
    out.properties = Object.fromEntries(Object.entries(s.properties).map(([name, of]) => [name, answer ? orNull(cut(of, answer)) : cut(of, answer)]))
    out.additionalProperties = false
  }
  if (typeof s.additionalProperties === 'object' && !s.properties) out.additionalProperties = cut(s.additionalProperties, answer)
  return out
}

const paths = {}
for (const name of hosts[host].operations) {
  const [method, path] = name.split(' ')
  const of = from.paths[path]?.[method.toLowerCase()]
  if (!of) throw new Error(`${name} is not described`)
  const parameters = [...(from.paths[path].parameters ?? []), ...(of.parameters ?? [])].map(follow)
  const body = of.requestBody?.content['application/json']?.schema ?? parameters.find(p => p.in === 'body')?.schema
  const responses = {}
  for (const [status, given] of Object.entries(of.responses)) {
    const r = follow(given)
    const schema = r.content?.['application/json']?.schema ?? r.schema
    responses[status] = schema ? orNull(cut(schema, true)) : {}
  }
  const query = parameters.filter(p => p.in === 'query').map(p => [p.name, { enum: (p.schema ?? p).enum }])
  paths[path] = { ...paths[path], [method.toLowerCase()]: { query: Object.fromEntries(query), ...(body && { body: cut(body, false) }), responses } }
}
process.stdout.write(`{
"info": ${JSON.stringify({ title: from.info.title, version: process.argv[4] ?? from.info.version, licence: hosts[host].licence })},
"paths": {
${Object.entries(paths).map(([k, v]) => `${JSON.stringify(k)}: ${JSON.stringify(v)}`).join(',\n')}
},
"schemas": {
${Object.keys(schemas).sort().map(k => `${JSON.stringify(k)}: ${JSON.stringify(schemas[k])}`).join(',\n')}
}
}
`)
