// Tested by type_notation_test.cc and tests/contract/object_test.cc.
// The fields of the built-in kinds, as Kubernetes 1.37 has them: name, type, how lists merge, and
// defaults. The notation is that of type_notation.h. Other fields are unknown to the API: they are
// dropped, or refused when the client asked for strict validation.
#include "api_sim/objects/built_in_types.h"

#include <map>

#include "base/check.h"

namespace galen::api_sim {
namespace {

constexpr std::string_view kMetaAndNodeTypes =
    R"(Condition: type status observedGeneration:int lastTransitionTime:time reason message
LabelSelectorRequirement: key operator values[]
LabelSelector: matchLabels:map matchExpressions:LabelSelectorRequirement[]
OwnerReference: apiVersion kind name uid controller:bool blockOwnerDeletion:bool
ObjectMeta: name generateName namespace selfLink uid resourceVersion generation:int
  creationTimestamp:time deletionTimestamp:time deletionGracePeriodSeconds:int labels:map
  annotations:map ownerReferences:OwnerReference@[uid] finalizers{} managedFields:any[]
NamespaceSpec: finalizers[]
NamespaceCondition: type status lastTransitionTime:time reason message
NamespaceStatus: phase conditions:NamespaceCondition[type]
Namespace: metadata:ObjectMeta spec:NamespaceSpec status:NamespaceStatus
Taint: key value effect timeAdded:time
ConfigMapNodeConfigSource: namespace name uid resourceVersion kubeletConfigKey
NodeConfigSource: configMap:ConfigMapNodeConfigSource
NodePodPreemptionPolicy: disableResizePreemption{}
NodeSpec: podCIDR podCIDRs{} providerID unschedulable:bool taints:Taint[]
  configSource:NodeConfigSource externalID podPreemptionPolicy:NodePodPreemptionPolicy
NodeCondition: type status lastHeartbeatTime:time lastTransitionTime:time reason message
NodeAddress: type address
DaemonEndpoint: Port:int
NodeDaemonEndpoints: kubeletEndpoint:DaemonEndpoint
NodeSwapStatus: capacity:int
NodeSystemInfo: machineID systemUUID bootID kernelVersion osImage containerRuntimeVersion
  kubeletVersion kubeProxyVersion operatingSystem architecture swap:NodeSwapStatus
ContainerImage: names[] sizeBytes:int
AttachedVolume: name devicePath
NodeConfigStatus: assigned:NodeConfigSource active:NodeConfigSource lastKnownGood:NodeConfigSource
  error
NodeRuntimeHandlerFeatures: recursiveReadOnlyMounts:bool userNamespaces:bool
NodeRuntimeHandler: name features:NodeRuntimeHandlerFeatures
NodeFeatures: supplementalGroupsPolicy:bool
NodeStatus: capacity:map.quantity allocatable:map.quantity phase conditions:NodeCondition[type]
  addresses:NodeAddress[type] daemonEndpoints:NodeDaemonEndpoints nodeInfo:NodeSystemInfo
  images:ContainerImage[] volumesInUse[] volumesAttached:AttachedVolume[] config:NodeConfigStatus
  runtimeHandlers:NodeRuntimeHandler[] features:NodeFeatures declaredFeatures[]
Node: metadata:ObjectMeta spec:NodeSpec status:NodeStatus
)";

constexpr std::string_view kPodTypes =
    R"(Volume: name hostPath:any emptyDir:any gcePersistentDisk:any awsElasticBlockStore:any gitRepo:any
  secret:any nfs:any iscsi:any glusterfs:any persistentVolumeClaim:any rbd:any flexVolume:any
  cinder:any cephfs:any flocker:any downwardAPI:any fc:any azureFile:any configMap:any
  vsphereVolume:any quobyte:any azureDisk:any photonPersistentDisk:any projected:any
  portworxVolume:any scaleIO:any storageos:any csi:any ephemeral:any image:any
ContainerPort: name hostPort:int containerPort:int protocol=TCP hostIP
ConfigMapEnvSource: name optional:bool
SecretEnvSource: name optional:bool
EnvFromSource: prefix configMapRef:ConfigMapEnvSource secretRef:SecretEnvSource
ObjectFieldSelector: apiVersion fieldPath
ResourceFieldSelector: containerName resource divisor:quantity
ConfigMapKeySelector: name key optional:bool
SecretKeySelector: name key optional:bool
FileKeySelector: volumeName path key optional:bool
EnvVarSource: fieldRef:ObjectFieldSelector@ resourceFieldRef:ResourceFieldSelector@
  configMapKeyRef:ConfigMapKeySelector@ secretKeyRef:SecretKeySelector@ fileKeyRef:FileKeySelector
EnvVar: name value valueFrom:EnvVarSource
ContainerClaim: name request
ResourceRequirements: limits:map.quantity requests:map.quantity claims:ContainerClaim[name]
ContainerResizePolicy: resourceName restartPolicy
ContainerRestartRuleOnExitCodes: operator values:int{}
ContainerRestartRule: action exitCodes:ContainerRestartRuleOnExitCodes
VolumeMount: name readOnly:bool recursiveReadOnly mountPath subPath mountPropagation subPathExpr
  bindMountOptions{}
VolumeDevice: name devicePath
ExecAction: command[]
HTTPHeader: name value
HTTPGetAction: path port:quantity host scheme httpHeaders:HTTPHeader[] protocol
TCPSocketAction: port:quantity host
GRPCAction: port:int service mode
Probe: exec:ExecAction httpGet:HTTPGetAction tcpSocket:TCPSocketAction grpc:GRPCAction
  initialDelaySeconds:int timeoutSeconds:int periodSeconds:int successThreshold:int
  failureThreshold:int terminationGracePeriodSeconds:int
Capabilities: add[] drop[]
SELinuxOptions: user role type level
SeccompProfile: type localhostProfile
AppArmorProfile: type localhostProfile
SecurityContext: capabilities:Capabilities privileged:bool seLinuxOptions:SELinuxOptions
  windowsOptions:any runAsUser:int runAsGroup:int runAsNonRoot:bool readOnlyRootFilesystem:bool
  allowPrivilegeEscalation:bool procMount seccompProfile:SeccompProfile
  appArmorProfile:AppArmorProfile
Container: name image command[] args[] workingDir ports:ContainerPort[containerPort,protocol]
  envFrom:EnvFromSource[] env:EnvVar[name] resources:ResourceRequirements={}
  resizePolicy:ContainerResizePolicy[] restartPolicy restartPolicyRules:ContainerRestartRule[]
  volumeMounts:VolumeMount[mountPath] volumeDevices:VolumeDevice[devicePath] livenessProbe:Probe
  readinessProbe:Probe startupProbe:Probe lifecycle:any
  terminationMessagePath=/dev/termination-log terminationMessagePolicy=File
  imagePullPolicy=IfNotPresent securityContext:SecurityContext stdin:bool stdinOnce:bool tty:bool
EphemeralContainer: name image command[] args[] workingDir
  ports:ContainerPort[containerPort,protocol] envFrom:EnvFromSource[] env:EnvVar[name]
  resources:ResourceRequirements resizePolicy:ContainerResizePolicy[] restartPolicy
  restartPolicyRules:ContainerRestartRule[] volumeMounts:VolumeMount[mountPath]
  volumeDevices:VolumeDevice[devicePath] livenessProbe:Probe readinessProbe:Probe
  startupProbe:Probe lifecycle:any terminationMessagePath=/dev/termination-log
  terminationMessagePolicy=File imagePullPolicy=IfNotPresent securityContext:SecurityContext
  stdin:bool stdinOnce:bool tty:bool targetContainerName
Sysctl: name value
PodSecurityContext: seLinuxOptions:SELinuxOptions windowsOptions:any runAsUser:int runAsGroup:int
  runAsNonRoot:bool supplementalGroups:int[] supplementalGroupsPolicy fsGroup:int sysctls:Sysctl[]
  fsGroupChangePolicy seccompProfile:SeccompProfile appArmorProfile:AppArmorProfile
  seLinuxChangePolicy
LocalObjectReference: name
Toleration: key operator value effect tolerationSeconds:int
HostAlias: ip hostnames[]
PodDNSConfigOption: name value
PodDNSConfig: nameservers[] searches[] options:PodDNSConfigOption[]
PodReadinessGate: conditionType
TopologySpreadConstraint: maxSkew:int topologyKey whenUnsatisfiable labelSelector:LabelSelector@
  minDomains:int nodeAffinityPolicy nodeTaintsPolicy matchLabelKeys[]
PodOS: name
PodSchedulingGate: name
PodResourceClaim: name resourceClaimName resourceClaimTemplateName
PodSchedulingGroup: podGroupName
EvictionResponder: name priority:int
PodSpec: volumes:Volume[name] initContainers:Container[name] containers:Container[name]
  ephemeralContainers:EphemeralContainer[name] restartPolicy=Always
  terminationGracePeriodSeconds:int=30
  activeDeadlineSeconds:int dnsPolicy=ClusterFirst nodeSelector:map@ serviceAccountName=default
  serviceAccount automountServiceAccountToken:bool nodeName hostNetwork:bool hostPID:bool
  hostIPC:bool shareProcessNamespace:bool securityContext:PodSecurityContext={}
  imagePullSecrets:LocalObjectReference[name] hostname subdomain affinity:any
  schedulerName=default-scheduler tolerations:Toleration[] hostAliases:HostAlias[ip]
  priorityClassName priority:int dnsConfig:PodDNSConfig readinessGates:PodReadinessGate[]
  runtimeClassName enableServiceLinks:bool=true preemptionPolicy=PreemptLowerPriority
  overhead:map.quantity
  topologySpreadConstraints:TopologySpreadConstraint[topologyKey,whenUnsatisfiable]
  setHostnameAsFQDN:bool os:PodOS hostUsers:bool schedulingGates:PodSchedulingGate[name]
  resourceClaims:PodResourceClaim[name] resources:ResourceRequirements hostnameOverride
  schedulingGroup:PodSchedulingGroup evictionResponders:EvictionResponder[name]
PodCondition: type observedGeneration:int status lastProbeTime:time lastTransitionTime:time reason
  message
HostIP: ip
PodIP: ip
ContainerStateWaiting: reason message
ContainerStateRunning: startedAt:time
ContainerStateTerminated: exitCode:int signal:int reason message startedAt:time finishedAt:time
  containerID
ContainerState: waiting:ContainerStateWaiting running:ContainerStateRunning
  terminated:ContainerStateTerminated
ImageVolumeStatus: imageRef
VolumeStatus: image:ImageVolumeStatus
VolumeMountStatus: name mountPath readOnly:bool recursiveReadOnly volumeStatus:VolumeStatus
LinuxContainerUser: uid:int gid:int supplementalGroups:int[]
ContainerUser: linux:LinuxContainerUser
ResourceHealth: resourceID health message
ResourceStatus: name resources:ResourceHealth[resourceID]
ContainerStatus: name state:ContainerState lastState:ContainerState ready:bool restartCount:int
  image imageID containerID started:bool allocatedResources:map.quantity
  resources:ResourceRequirements volumeMounts:VolumeMountStatus[mountPath] user:ContainerUser
  allocatedResourcesStatus:ResourceStatus[name] stopSignal
PodResourceClaimStatus: name resourceClaimName
ContainerExtendedResourceRequest: containerName resourceName requestName
PodExtendedResourceClaimStatus: requestMappings:ContainerExtendedResourceRequest[]
  resourceClaimName
NodeAllocatableMappedResources: name quantity:quantity
NodeAllocatableOverheadResources: name perPod:quantity perContainer:quantity
NodeAllocatableResourceClaimStatus: resourceClaimName containers{}
  mapping:NodeAllocatableMappedResources[name] overhead:NodeAllocatableOverheadResources[name]
VolumeHealthCondition: status reason message
PodVolumeHealth: name healthConditions:VolumeHealthCondition[status,reason]
  lastTransitionTime:time
PodStatus: observedGeneration:int phase conditions:PodCondition[type] message reason
  nominatedNodeName hostIP hostIPs:HostIP[] podIP podIPs:PodIP[ip] startTime:time
  initContainerStatuses:ContainerStatus[] containerStatuses:ContainerStatus[] qosClass
  ephemeralContainerStatuses:ContainerStatus[] resize
  resourceClaimStatuses:PodResourceClaimStatus[name]
  extendedResourceClaimStatus:PodExtendedResourceClaimStatus allocatedResources:map.quantity
  resources:ResourceRequirements
  nodeAllocatableResourceClaimStatuses:NodeAllocatableResourceClaimStatus[resourceClaimName]
  volumeHealth:PodVolumeHealth[name]
Pod: metadata:ObjectMeta spec:PodSpec status:PodStatus
)";

constexpr std::string_view kOtherTypes =
    R"(ObjectReference: kind namespace name uid apiVersion resourceVersion fieldPath
EventSource: component host
EventSeries: count:int lastObservedTime:time
Event: metadata:ObjectMeta involvedObject:ObjectReference@ reason message source:EventSource
  firstTimestamp:time lastTimestamp:time count:int type eventTime:time series:EventSeries action
  related:ObjectReference@ reportingComponent reportingInstance
ServiceAccount: metadata:ObjectMeta secrets:ObjectReference[name]
  imagePullSecrets:LocalObjectReference[] automountServiceAccountToken:bool
ConfigMap: metadata:ObjectMeta immutable:bool data:map binaryData:map.any
Secret: metadata:ObjectMeta immutable:bool data:map.any stringData:map type=Opaque
LeaseSpec: holderIdentity leaseDurationSeconds:int acquireTime:time renewTime:time
  leaseTransitions:int strategy preferredHolder
Lease: metadata:ObjectMeta spec:LeaseSpec
PodDisruptionBudgetSpec: minAvailable:quantity selector:LabelSelector@ maxUnavailable:quantity
  unhealthyPodEvictionPolicy
PodDisruptionBudgetStatus: observedGeneration:int disruptedPods:map.time disruptionsAllowed:int
  currentHealthy:int desiredHealthy:int expectedPods:int conditions:Condition[type]
PodDisruptionBudget: metadata:ObjectMeta spec:PodDisruptionBudgetSpec
  status:PodDisruptionBudgetStatus
CELDeviceSelector: expression
DeviceSelector: cel:CELDeviceSelector
DeviceToleration: key operator value effect tolerationSeconds:int
CapacityRequirements: requests:map.quantity
ExactDeviceRequest: deviceClassName selectors:DeviceSelector[] allocationMode=ExactCount count:int
  adminAccess:bool tolerations:DeviceToleration[] capacity:CapacityRequirements
DeviceSubRequest: name deviceClassName selectors:DeviceSelector[] allocationMode=ExactCount
  count:int tolerations:DeviceToleration[] capacity:CapacityRequirements
DeviceRequest: name exactly:ExactDeviceRequest firstAvailable:DeviceSubRequest[]
DeviceConstraint: requests[] matchAttribute distinctAttribute
OpaqueDeviceConfiguration: driver parameters:any
DeviceClaimConfiguration: requests[] opaque:OpaqueDeviceConfiguration
DeviceClaim: requests:DeviceRequest[] constraints:DeviceConstraint[]
  config:DeviceClaimConfiguration[]
ResourceClaimSpec: devices:DeviceClaim
ResourceClaimTemplateSpec: metadata:ObjectMeta spec:ResourceClaimSpec
ResourceClaimTemplate: metadata:ObjectMeta spec:ResourceClaimTemplateSpec
DeviceClassConfiguration: opaque:OpaqueDeviceConfiguration
DeviceClassSpec: selectors:DeviceSelector[] config:DeviceClassConfiguration[] extendedResourceName
DeviceClass: metadata:ObjectMeta spec:DeviceClassSpec
ResourcePool: name generation:int resourceSliceCount:int
NodeSelectorRequirement: key operator values[]
NodeSelectorTerm: matchExpressions:NodeSelectorRequirement[] matchFields:NodeSelectorRequirement[]
NodeSelector: nodeSelectorTerms:NodeSelectorTerm[]
DeviceAttribute: int:int bool:bool string version ints:int[] bools:bool[] strings[] versions[]
CapacityRequestPolicyRange: min:quantity max:quantity step:quantity
CapacityRequestPolicy: default:quantity validValues:quantity[]
  validRange:CapacityRequestPolicyRange
DeviceCapacity: value:quantity requestPolicy:CapacityRequestPolicy
Counter: value:quantity
DeviceCounterConsumption: counterSet counters:map.Counter
DeviceTaint: key value effect timeAdded:time
NodeAllocatableMapping: capacityKey capacityMultiplier:quantity deviceMultiplier:quantity
NodeAllocatableOverhead: perPod:quantity perContainer:quantity
NodeAllocatableResource: mapping:NodeAllocatableMapping overhead:NodeAllocatableOverhead
Device: name attributes:map.DeviceAttribute capacity:map.DeviceCapacity
  consumesCounters:DeviceCounterConsumption[] nodeName nodeSelector:NodeSelector@ allNodes:bool
  taints:DeviceTaint[] bindsToNode:bool bindingConditions[] bindingFailureConditions[]
  allowMultipleAllocations:bool nodeAllocatableResources:map.NodeAllocatableResource
CounterSet: name counters:map.Counter
ResourceSliceSpec: driver pool:ResourcePool nodeName nodeSelector:NodeSelector@ allNodes:bool
  devices:Device[] perDeviceNodeSelection:bool sharedCounters:CounterSet[] partitionTypeAttribute
  skipNodeOperations{}
ResourceSlice: metadata:ObjectMeta spec:ResourceSliceSpec
DeviceTaintSelector: driver pool device
DeviceTaintRuleSpec: deviceSelector:DeviceTaintSelector taint:DeviceTaint
DeviceTaintRuleStatus: conditions:Condition[type]
DeviceTaintRule: metadata:ObjectMeta spec:DeviceTaintRuleSpec status:DeviceTaintRuleStatus
NetworkDeviceData: interfaceName ips[] hardwareAddress
AllocatedDeviceStatus: driver pool device shareID conditions:Condition[type] data:any
  networkData:NetworkDeviceData
ResourceClaimConsumerReference: apiGroup resource name uid
DeviceRequestAllocationResult: request driver pool device adminAccess:bool
  tolerations:DeviceToleration[] bindingConditions[] bindingFailureConditions[] shareID
  consumedCapacity:map.quantity skipNodeOperations{}
DeviceAllocationConfiguration: source requests[] opaque:OpaqueDeviceConfiguration
DeviceAllocationResult: results:DeviceRequestAllocationResult[]
  config:DeviceAllocationConfiguration[]
AllocationResult: devices:DeviceAllocationResult nodeSelector:NodeSelector@
  allocationTimestamp:time
ResourceClaimStatus: allocation:AllocationResult reservedFor:ResourceClaimConsumerReference[uid]
  devices:AllocatedDeviceStatus[driver,device,pool,shareID]
ResourceClaim: metadata:ObjectMeta spec:ResourceClaimSpec status:ResourceClaimStatus
CustomResourceDefinition: metadata:ObjectMeta spec:any status:any
)";

}  // namespace

Json BuiltInSchema(std::string_view kind) {
  static const TypeNotation types({kMetaAndNodeTypes, kPodTypes, kOtherTypes});
  return types.SchemaOfKind(kind);
}

}  // namespace galen::api_sim
