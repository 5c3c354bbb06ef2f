import type { paths } from "./openapi.js";

/** Path template of the OpenAPI document. A path that the server does not have is a compile error. */
export type Template = keyof paths;

type Parameters<P extends string> = P extends `${string}{${infer Name}}${infer Rest}` ? Name | Parameters<Rest> : never;

/** Values of the parameters in a path template. */
export type PathValues<P extends Template> = Record<Parameters<P>, string | number>;

/** Body of the 200 response of an operation. */
export type Answer<P extends Template, M extends "get" | "post" | "delete"> = paths[P][M] extends {
  responses: { 200: { content: { "application/json": infer Body } } };
}
  ? Body
  : never;

/** Fills the parameters of a template. An empty value or a dot segment would name another path, and is refused. */
export function fillPath<P extends Template>(template: P, values: PathValues<P>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String((values as Record<string, string | number>)[name]);
    if (["", ".", "..", "undefined", "null"].includes(value)) throw new TypeError(`${name} is missing or empty: "${value}"`);
    return encodeURIComponent(value);
  });
}

/** Values of query parameters; undefined ones are left out. */
export type Query = Record<string, string | number | boolean | readonly string[] | undefined>;

/** Query string with its question mark, or nothing. */
export function queryString(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const item of Array.isArray(value) ? value : [value]) parameters.append(name, String(item));
  }
  const text = parameters.toString();
  return text && `?${text}`;
}
