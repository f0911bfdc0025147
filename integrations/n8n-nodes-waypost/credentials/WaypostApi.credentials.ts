import type { IAuthenticateGeneric, ICredentialTestRequest, ICredentialType, INodeProperties } from "n8n-workflow";

export class WaypostApi implements ICredentialType {
  name = "waypostApi";

  displayName = "Waypost API";

  icon = { light: "file:../icons/waypost.svg", dark: "file:../icons/waypost.dark.svg" } as const;

  documentationUrl = "https://waypost.github.io/waypost/guides/integrations/n8n/";

  properties: INodeProperties[] = [
    {
      displayName: "Address",
      name: "baseUrl",
      type: "string",
      default: "",
      placeholder: "https://go.example.com",
      description: "Where the dashboard of your Waypost is, without a path",
      required: true,
    },
    {
      displayName: "API Key",
      name: "apiKey",
      type: "string",
      typeOptions: { password: true },
      default: "",
      description: "A key with the scopes links:read and links:write, and webhooks:manage for the trigger",
      required: true,
    },
  ];

  authenticate: IAuthenticateGeneric = {
    type: "generic",
    properties: { headers: { Authorization: "=Bearer {{$credentials.apiKey}}" } },
  };

  test: ICredentialTestRequest = {
    request: { baseURL: '={{$credentials.baseUrl.replace(/\\/+$/, "")}}', url: "/api/v1/me" },
  };
}
