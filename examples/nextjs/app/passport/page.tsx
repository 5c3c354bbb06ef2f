// A server component: it reads the settings at each request, because a build has none. A publishable key may be in a page.

import { connection } from "next/server";

import { Passport } from "./passport";

export default async function Page() {
  await connection();
  const { PYXIS_URL = "", PYXIS_PUBLISHABLE_KEY = "", PYXIS_SCORER_ID = "1" } = process.env;
  return (
    <main>
      <h1>Your score</h1>
      {PYXIS_PUBLISHABLE_KEY ? (
        <Passport server={PYXIS_URL} scorer={PYXIS_SCORER_ID} publishableKey={PYXIS_PUBLISHABLE_KEY} />
      ) : (
        <p>Set PYXIS_PUBLISHABLE_KEY and start again.</p>
      )}
    </main>
  );
}
