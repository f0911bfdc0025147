import { Output, Services } from "~templates-utils";
import { Input } from "./meta";

export function generate(input: Input): Output {
  const services: Services = [];

  services.push({
    type: "app",
    data: {
      serviceName: input.appServiceName,
      source: { type: "image", image: input.appServiceImage },
      env: [
        `WAYPOST_BASE_URL=https://$(PRIMARY_DOMAIN)`,
        // Easypanel's proxy, in a network of Docker. The port is not published.
        `WAYPOST_TRUSTED_PROXIES=10.0.0.0/8,172.16.0.0/12`,
        `WAYPOST_OWNER_EMAIL=${input.ownerEmail}`,
        `WAYPOST_OWNER_PASSWORD=${input.ownerPassword}`,
        `WAYPOST_SIGNUP=invite`,
      ].join("\n"),
      domains: [{ host: "$(EASYPANEL_DOMAIN)", port: 8000 }],
      mounts: [{ type: "volume", name: "data", mountPath: "/data" }],
    },
  });

  return { services };
}
