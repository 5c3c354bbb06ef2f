// Chromium's virtual authenticator: a passkey without a finger.

/** Gives the page's browser context an authenticator that verifies its user. */
export async function withAuthenticator(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("WebAuthn.enable");
  const { authenticatorId } = await cdp.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    /** From now on the person is, or is not, verified. */
    verify: (isUserVerified) => cdp.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified }),
  };
}

/** Registers a passkey on the account page. */
export async function registerPasskey(page, name) {
  await page.goto("/app/account");
  await page.getByLabel("Name of the new passkey").fill(name);
  await page.getByRole("button", { name: "Register a passkey" }).click();
  await page.getByText("Passkey registered.").waitFor();
}
