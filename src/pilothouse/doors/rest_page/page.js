// Reads /api/openapi.json with the key that the person gives, and prints it. Text is only ever set as text.

const STORE = "pilothouse.key";
const METHODS = ["get", "post", "put", "patch", "delete"];
const byId = (id) => document.getElementById(id);

function make(tag, text = "", ...children) {
  const node = document.createElement(tag);
  node.append(...(text === "" ? [] : [text]), ...children);
  return node;
}

function styled(tag, kind, text) {
  const node = make(tag, text);
  node.className = kind;
  return node;
}

function resolve(whole, schema) {
  const name = schema?.$ref?.split("/").pop();
  return name ? (whole.components.schemas[name] ?? whole.components.parameters[name] ?? {}) : (schema ?? {});
}

function kindOf(whole, given) {
  const schema = resolve(whole, given);
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  if (schema.anyOf) return schema.anyOf.map((one) => kindOf(whole, one)).join(" | ");
  if (schema.type === "array") return `list of ${kindOf(whole, schema.items)}`;
  return schema.type ?? "any";
}

function bounds(schema) {
  const names = { minimum: "≥", maximum: "≤", minLength: "length ≥", maxLength: "length ≤", maxItems: "items ≤" };
  const told = Object.entries(names).filter(([key]) => key in schema).map(([key, sign]) => `${sign} ${schema[key]}`);
  return told.length ? `(${told.join(", ")})` : "";
}

function argumentsOf(whole, path, operation) {
  const body = operation.requestBody?.content["application/json"].schema;
  const inBody = Object.entries(body?.properties ?? {}).map(([name, schema]) => ({
    name, schema, place: "body", required: body.required?.includes(name), description: schema.description,
  }));
  const others = [...(path.parameters ?? []), ...(operation.parameters ?? [])].map((one) => resolve(whole, one));
  return [...others.map((one) => ({
    ...one, place: one.in, schema: one.schema ?? one.content?.["application/json"].schema ?? {},
  })), ...inBody];
}

function table(whole, list) {
  const head = make("tr", "", ...["Name", "In", "Kind", "Meaning"].map((text) => {
    const cell = make("th", text);
    cell.scope = "col";
    return cell;
  }));
  const rows = list.map((one) => make("tr", "",
    make("td", "", make("code", one.required ? `${one.name} *` : one.name)),
    make("td", one.place),
    make("td", kindOf(whole, one.schema)),
    make("td", [one.description, bounds(one.schema)].filter(Boolean).join(" ")),
  ));
  return make("table", "", make("thead", "", head), make("tbody", "", ...rows));
}

function command(address, method, operation) {
  const example = operation.requestBody?.content["application/json"].example;
  const data = example ? ` \\\n  --json '${JSON.stringify(example).replaceAll("'", "'\\''")}'` : "";
  const verb = method === "get" || data ? "" : ` -X ${method.toUpperCase()}`;
  return `curl${verb} -H "X-API-Key: $KEY"${data} \\\n  ${location.origin}${address.replace("{id}", "default")}`;
}

function section(whole, address, path, method) {
  const operation = path[method];
  const node = make("details", "", make("summary", "",
    styled("span", "method", method.toUpperCase()), " ", make("code", address), " ",
    styled("span", "quiet", operation.summary),
  ));
  node.dataset.text = `${method} ${address} ${operation.summary}`.toLowerCase();
  node.addEventListener("toggle", () => {
    if (!node.open || node.children.length > 1) return;
    const list = argumentsOf(whole, path, operation);
    if (operation["x-access"]) node.append(styled("p", "quiet", `access: ${operation["x-access"]}`));
    if (list.length) node.append(make("h3", "Arguments"), table(whole, list));
    node.append(make("h3", "Example"), make("pre", command(address, method, operation)));
  });
  return node;
}

function show(whole) {
  const groups = new Map(whole.tags.map((tag) => [tag.name, []]));
  for (const [address, path] of Object.entries(whole.paths)) {
    for (const method of METHODS.filter((one) => one in path)) {
      groups.get(path[method].tags[0]).push(section(whole, address, path, method));
    }
  }
  byId("about").textContent = whole.info.description;
  byId("tools").replaceChildren(...[...groups].map(([name, nodes]) => make("section", "", make("h2", name), ...nodes)));
  byId("main").hidden = false;
  byId("status").textContent = `Version ${whole.info.version}`;
  filter();
}

function filter() {
  const wanted = byId("filter").value.trim().toLowerCase();
  let count = 0;
  for (const group of byId("tools").children) {
    const nodes = [...group.querySelectorAll("details")];
    for (const node of nodes) node.hidden = !node.dataset.text.includes(wanted);
    const shown = nodes.filter((node) => !node.hidden).length;
    group.hidden = shown === 0;
    count += shown;
  }
  byId("count").textContent = `${count} shown`;
}

async function open(key) {
  try {
    const answer = await fetch("/api/openapi.json", { headers: { "X-API-Key": key } });
    const body = await answer.json();
    if (!answer.ok) throw new Error(body.error.message);
    sessionStorage.setItem(STORE, key);
    show(body);
  } catch (error) {
    sessionStorage.removeItem(STORE);
    byId("status").textContent = `Not shown: ${error.message}`;
  }
}

byId("open").addEventListener("submit", (event) => {
  event.preventDefault();
  open(byId("key").value.trim());
});
byId("filter").addEventListener("input", filter);
if (sessionStorage.getItem(STORE)) open(sessionStorage.getItem(STORE));
